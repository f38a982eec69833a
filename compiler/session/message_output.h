// SPDX-License-Identifier: GPL-2.0-or-later
// The base of outputs that have no form of their own for errors, warnings and counts: these are
// messages for the user.
#pragma once
#include "session/output.h"

#include <string>

namespace djstap {

class MessageOutput : public Output {
  public:
    explicit MessageOutput(const OutputStreams& streams)
        : writer_(streams.writer), messages_(streams.messages), warnings_(streams.warnings),
          verbose_(streams.verbose), tells_(streams.tells) {}

    void error(std::string_view message, std::string_view place) override;
    void warning(std::string_view message) override;
    void probes(const std::vector<AttachedProbe>& probes) override;
    void counts(const djs_counts& counts) override;
    bool wants_all_probes() const override { return verbose_; }
    Writer& writer() override { return writer_; }

  protected:
    // Tells something about this output only.
    void tell(std::string_view warning);
    // Tells which of these fields (DJS_EVENT_*) the module does not record, and what follows.
    void tell_missing(const ModuleMeta& meta, uint32_t fields, std::string_view format,
                      std::string_view consequence);

  private:
    void show(const AttachedProbe& probe);
    void say(const std::string& line);

    Writer& writer_;
    Writer& messages_;
    bool warnings_, verbose_, tells_;
};

} // namespace djstap
