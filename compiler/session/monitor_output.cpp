// SPDX-License-Identifier: GPL-2.0-or-later
// --monitor: shows the script's globals and probes on a terminal while it runs.
#include "diagnostics/plain_text.h"
#include "session/monitor_model.h"
#include "session/monitor_screen.h"
#include "session/outputs.h"

#include <cstring>
#include <optional>
#include <vector>

namespace djstap {

namespace {

class MonitorOutput : public Output {
  public:
    explicit MonitorOutput(const OutputStreams& streams)
        : writer_(streams.writer), messages_(streams.messages), warnings_(streams.warnings) {}

    void begin(const ModuleMeta& meta, const RecordClock&) override {
        model_.emplace(meta.name);
        auto screen = MonitorScreen::open();
        if (screen) {
            screen_ = std::move(*screen);
        } else {
            error(screen.failure().message + "; " + screen.failure().hint, "");
            closed_ = true;
        }
        const bool shows = std::ranges::any_of(meta.formats, [](const ModuleMeta::Format& format) {
            return format.shows == DJS_SHOWS_BEGIN;
        });
        if (!shows)
            warning("the module was made without --monitor: it shows neither globals nor probes");
    }

    void control(SessionControls& controls) override { controls_ = &controls; }

    void print(const Event& event) override {
        constexpr uint32_t events_until_look = 512;
        if (model_ && !model_->take(event))
            model_->take_text(event.printed(text_));
        if (++events_ % events_until_look == 0)
            flush();
    }

    void error(std::string_view message, std::string_view place) override {
        std::string line("ERROR: ");
        line.append(message);
        if (!place.empty())
            line.append(" near ").append(place);
        say(std::move(line));
    }
    void warning(std::string_view message) override {
        if (warnings_)
            say(std::string("WARNING: ").append(message));
    }
    void probes(const std::vector<AttachedProbe>&) override {}
    void counts(const djs_counts& counts) override {
        for (const std::string& line : describe_counts(counts))
            warning(line);
    }

    // What the script printed last, such as its end probe, and all messages remain on the terminal.
    void end() override {
        screen_.reset();
        if (model_)
            writer_.append(model_->last_text());
        writer_.flush();
        for (const std::string& line : said_)
            messages_.append(line + "\n");
        messages_.flush();
    }

    bool wants_all_probes() const override { return false; }
    bool wants_snapshots() const override { return true; }
    Writer& writer() override { return writer_; }

    void flush() override {
        if (!screen_) {
            writer_.flush();
            return;
        }
        bool resized = false;
        while (const auto press = screen_->key(resized))
            obey(model_->press(press->key, press->character));
        if (model_->changed() || resized)
            screen_->draw(model_->lines(screen_->width(), screen_->height()));
    }

    bool is_closed() override { return closed_ || Output::is_closed(); }

  private:
    void obey(const MonitorRequest& request) {
        if (request.kind == MonitorRequest::Kind::Quit)
            closed_ = true;
        if (request.kind != MonitorRequest::Kind::Switch)
            return;
        for (const uint32_t probe : request.probes) {
            const int failed = controls_ ? controls_->switch_probe(probe, request.on) : ENOTTY;
            if (failed == ENOTTY)
                model_->refuse(probe, "probes cannot be switched with --runtime=user");
            else if (failed)
                model_->refuse(probe, std::string("the probe cannot be switched: ") +
                                          std::strerror(failed));
            else
                model_->set_switch(probe, request.on);
        }
    }

    void say(std::string line) {
        line = without_controls(line);
        if (model_ && screen_)
            model_->take_message(line);
        said_.push_back(std::move(line));
        constexpr size_t most_said = 100;
        if (said_.size() > most_said)
            said_.erase(said_.begin());
    }

    Writer& writer_;
    Writer& messages_;
    bool warnings_, closed_ = false;
    std::optional<MonitorModel> model_;
    std::unique_ptr<MonitorScreen> screen_;
    SessionControls* controls_ = nullptr;
    std::vector<std::string> said_; // for the time after the screen
    std::string text_;
    uint32_t events_ = 0;
};

} // namespace

std::unique_ptr<Output> make_monitor_output(const OutputStreams& streams) {
    return std::make_unique<MonitorOutput>(streams);
}

} // namespace djstap
