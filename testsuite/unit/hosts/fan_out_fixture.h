// SPDX-License-Identifier: GPL-2.0-or-later
// All hosts of a set, from their call to their end.
#pragma once
#include "fake_hosts.h"
#include "hosts/fan_out.h"

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <thread>

namespace djstap::hosts {

class FanOutTest : public testing::Test {
  protected:
    void SetUp() override { signal(SIGPIPE, SIG_IGN); }

    FanOut& open(const std::string& set,
                 std::chrono::milliseconds waits = std::chrono::seconds(60)) {
        fan_out_ = std::make_unique<FanOut>(
            *parse_node_set(set), FanOutOptions{hosts_.shell(), waits, 4},
            FanOut::Events{[this](size_t host, SnapshotFrame frame) {
                               auto& kinds = frames_[fan_out_->host(host).node().name];
                               if (const auto* printed = std::get_if<PrintedFrame>(&frame))
                                   kinds += printed->text;
                               else
                                   kinds += "DGPME"[frame.index()];
                           },
                           [this](size_t, const std::string& line) { errors_ += line + "\n"; },
                           [](size_t) { return true; }, [this] { return stop_; }});
        return *fan_out_;
    }
    // Up to the moment at which all wait to be started.
    void load() {
        FanOut& all = *fan_out_;
        all.call();
        const SharedFile module = shared_file(std::string(300'000, 'm'));
        for (size_t i = 0; i < all.size(); i++)
            if (all.host(i).stage() == Stage::Known)
                all.host(i).push(module, nullptr, FanOut::Clock::now());
        all.wait_for(Stage::Ready);
        for (size_t i = 0; i < all.size(); i++)
            if (all.host(i).stage() == Stage::Ready)
                all.host(i).load("host=" + all.host(i).node().name, FanOut::Clock::now());
        all.wait_for(Stage::Loaded);
    }
    void go() {
        for (size_t i = 0; i < fan_out_->size(); i++)
            if (fan_out_->host(i).stage() == Stage::Loaded)
                fan_out_->host(i).go(FanOut::Clock::now());
    }
    void finish() {
        fan_out_->stop();
        fan_out_->wait_for(Stage::Ended);
    }
    void record(const std::string& host) {
        hosts_.record(host, {DescriptionFrame{}}, {PrintedFrame{1, "hello"}, GlobalsFrame{}},
                      {GlobalsFrame{}, EndFrame{}});
    }
    std::string failure(size_t host) const { return fan_out_->host(host).failure().value_or(""); }

    FakeHosts hosts_;
    std::map<std::string, std::string> frames_; // letters, and what was printed
    std::string errors_;
    bool stop_ = false;
    std::unique_ptr<FanOut> fan_out_;
};

} // namespace djstap::hosts
