// SPDX-License-Identifier: GPL-2.0-or-later
// The stream of --output=snapshots, which comes from other machines: what is read of it can be
// written, and is read as the same again.
#include "session/snapshot_frames.h"
#include "target.h"

using namespace djstap;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    SnapshotReader reader;
    reader.add(fuzz::view(data, size));
    while (true) {
        const auto frame = reader.next();
        if (!frame || !*frame)
            return 0;
        std::string written, again;
        put_frame(written, **frame);
        SnapshotReader second;
        second.add(written);
        const auto same = second.next();
        fuzz::require(same && *same && second.at_border(), "a frame that was written is not read");
        put_frame(again, **same);
        fuzz::require(written == again, "a frame changes");
        if (const auto* globals = std::get_if<GlobalsFrame>(&**frame))
            for (const GlobalValues& values : globals->globals)
                for (const GlobalElement& element : values.elements) {
                    (void)keys_of(element.keys);
                    for (uint32_t bucket = 0; bucket < element.buckets.size(); bucket++)
                        (void)bucket_text(*values.shape, bucket);
                }
    }
}
