// SPDX-License-Identifier: GPL-2.0-or-later
// Hosts that are this machine: a remote shell that runs its command here, and a djrun that plays
// what was recorded.
#pragma once
#include "hosts/node_set.h"
#include "hosts/remote_shell.h"
#include "session/snapshot_frames.h"
#include "system/file.h"
#include "system/temporary.h"

#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace djstap::hosts {

class FakeHosts {
  public:
    FakeHosts() {
        std::filesystem::create_directory(folder_.file("tmp"));
        // sh FILE HOST COMMAND: what a host does before its commands run is in HOST.login.
        write("shell", "host=$1; shift; export DJSTAP_DJRUN='" + folder_.file("djrun") +
                           "' TMPDIR='" + folder_.file("tmp") + "' PLAYED='" + folder_.path() +
                           "'\n[ -e '" + folder_.path() + "'/$host.login ] && . '" +
                           folder_.path() +
                           "'/$host.login\n"
                           // A process of its own, as on a host: only the connection is a child.
                           "sh -c \"export OUTER=\\$\\$; $*\"\nexit $?\n");
        // HOST.loaded: until it is started; HOST.running: from then on; HOST.stopped: when it is
        // told to stop, or at once if HOST.ends exists. HOST.djrun replaces all this.
        write("djrun", "#!/bin/sh\n"
                       "for host; do :; done; host=${host#host=}; play=$PLAYED/$host\n"
                       "[ -e \"$play.djrun\" ] && . \"$play.djrun\"\n"
                       "cat \"$play.loaded\"\n"
                       "if read -r line; then\n"
                       "[ -e \"$play.running\" ] && cat \"$play.running\"\n"
                       "[ -e \"$play.ends\" ] || cat >/dev/null\n"
                       "fi\n"
                       "cat \"$play.stopped\"\n");
        std::filesystem::permissions(folder_.file("djrun"), std::filesystem::perms::owner_all);
    }

    // What a host shows: before it is started, while it runs, and at the end.
    void record(const std::string& host, const std::vector<SnapshotFrame>& loaded,
                const std::vector<SnapshotFrame>& running,
                const std::vector<SnapshotFrame>& stopped) const {
        write(host + ".loaded", bytes_of(loaded));
        write(host + ".running", bytes_of(running));
        write(host + ".stopped", bytes_of(stopped));
    }
    void write(const std::string& name, const std::string& bytes) const {
        ASSERT_TRUE(write_file(folder_.file(name), bytes));
    }
    static std::string bytes_of(const std::vector<SnapshotFrame>& frames) {
        std::string bytes;
        for (const SnapshotFrame& frame : frames)
            put_frame(bytes, frame);
        return bytes;
    }

    RemoteShell shell() const { return RemoteShell({"sh", folder_.file("shell")}); }
    // What hosts have left behind.
    std::vector<std::string> leftovers() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_.file("tmp")))
            names.push_back(entry.path().filename());
        return names;
    }
    // Hosts clean up by themselves, after what was connected to them has ended.
    void wait_until_nothing_is_left() const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        while (!leftovers().empty() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_EQ(leftovers(), std::vector<std::string>{});
    }
    std::string file(const std::string& name) const { return folder_.file(name); }

  private:
    TemporaryFolder folder_ = std::move(*TemporaryFolder::create_in_memory());
};

} // namespace djstap::hosts
