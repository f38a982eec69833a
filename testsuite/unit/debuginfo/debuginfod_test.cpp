// SPDX-License-Identifier: GPL-2.0-or-later
// Debug information that a server has.
#include "separate.h"

#include "image/debug_file.h"

#include <chrono>
#include <unistd.h>

namespace djstap {
namespace {

// A server of debug files in the folder `served`; its log has a line for each request. It ends with
// the object, and by itself after a minute.
class Server {
  public:
    Server(const std::string& folder, const std::string& mode) {
        const std::string log = folder + "/requests";
        std::ofstream(folder + "/server.py") << R"py(
import http.server, os, sys, threading, time
folder, mode = sys.argv[1:]
os.chdir(folder)
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        with open("requests", "a") as log:
            print(self.path, file=log)
        if mode == "silent":
            time.sleep(60)
        if mode == "stops":
            self.send_response(200)
            self.send_header("Content-Length", str(64 << 20))
            self.end_headers()
            for _ in range(6):
                self.wfile.write(b"x" * (1 << 20))
                time.sleep(0.2)
            time.sleep(60)
        self.path = "/served" + self.path
        super().do_GET()
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Timer(60, lambda: os._exit(1)).start()
with open("port.new", "w") as file:
    file.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
)py";
        fs::remove(folder + "/port");
        ProcessOptions options;
        options.bound = true;
        auto started = Process::start({"python3", folder + "/server.py", folder, mode}, options);
        EXPECT_TRUE(started) << started.failure().message;
        if (started)
            process_ = std::move(*started);
        for (int tries = 0; tries < 1000 && !fs::exists(folder + "/port"); tries++)
            usleep(10000);
        const auto port = read_file(folder + "/port");
        EXPECT_TRUE(port);
        url_ = "http://127.0.0.1:" + (port ? *port : "1");
    }
    const std::string& url() const { return url_; }

  private:
    Process process_;
    std::string url_;
};

TEST_F(SeparateDebugInfo, FromAServer) {
    make_module("m.ko", module_text);
    split_module("m.ko", "m.debug");
    const std::string id = (*ElfFile::open(at("m.ko")))->build_id().digits;
    shell("mkdir -p served/buildid/" + id + " && mv m.debug served/buildid/" + id + "/debuginfo");
    const Server server(made_.folder(), "quick");
    fetched_.set(at("fetched"));
    EXPECT_FALSE(open("m.ko").info); // it is not asked
    EXPECT_FALSE(fs::exists(at("requests")));
    servers_.set(server.url());
    {
        const Opened opened = open("m.ko");
        ASSERT_TRUE(opened.info) << opened.failure;
        EXPECT_EQ(opened->origin(), at("fetched/" + id + "/debuginfo"));
        expect_module(opened);
    }
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told[0], "asking " + server.url() +
                           " for the debug information of module 'm' of kernel 6.1.0-made");
    EXPECT_EQ(*read_file(at("requests")), "/buildid/" + id + "/debuginfo\n");
    expect_module_from("fetched/" + id + "/debuginfo", "m.ko"); // from libdebuginfod's cache
    EXPECT_EQ(*read_file(at("requests")), "/buildid/" + id + "/debuginfo\n");
    // --info and the like do not ask.
    shell("rm -rf fetched requests");
    auto module = open_module(*made_.image, at("m.ko"));
    EXPECT_FALSE(find_debug_file(**module, DebugServers::Ignore).found);
    EXPECT_FALSE(fs::exists(at("requests")));
}

TEST_F(SeparateDebugInfo, FromAServerThatHasAnotherBuild) {
    make_module("m.ko", module_text + "int more;\n");
    shell("cp m.ko other");
    make_module("m.ko", module_text);
    shell("strip -g m.ko");
    const std::string id = (*ElfFile::open(at("m.ko")))->build_id().digits;
    shell("mkdir -p served/buildid/" + id + " && mv other served/buildid/" + id + "/debuginfo");
    const Server server(made_.folder(), "quick");
    fetched_.set(at("fetched"));
    servers_.set(server.url());
    EXPECT_NE(open("m.ko").failure.find(" is of another build of module 'm'"), std::string::npos);
}

TEST_F(SeparateDebugInfo, FromServersThatFail) {
    make_module("m.ko", module_text);
    shell("strip -g m.ko");
    fetched_.set(at("fetched"));
    const std::string none = "no debug information was found for module 'm' of kernel 6.1.0-made";
    {
        const Server server(made_.folder(), "quick"); // it does not have the file
        servers_.set(server.url());
        EXPECT_EQ(open("m.ko").failure, none);
        EXPECT_TRUE(fs::exists(at("requests")));
        shell("rm -rf fetched requests");
    }
    const std::string begin =
        "the debug information of module 'm' of kernel 6.1.0-made cannot be used: ";
    const std::string end =
        ": no debug information of module 'm' of kernel 6.1.0-made was received: ";
    // Nothing listens on the port of the server that has ended.
    const std::string dead = getenv("DEBUGINFOD_URLS");
    EXPECT_TRUE(open("m.ko").failure.starts_with(begin + dead + end)) << open("m.ko").failure;
    EXPECT_EQ(open("m.ko").failure, none); // it was asked once
    shell("rm -rf fetched");
    const Server server(made_.folder(), "silent");
    servers_.set(server.url());
    timeout_.set("2");
    const auto start = std::chrono::steady_clock::now();
    const std::string failure = open("m.ko").failure;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_TRUE(failure.starts_with(begin + server.url() + end)) << failure;
    EXPECT_TRUE(fs::exists(at("requests")));
}

// Megabytes in the last seconds keep libdebuginfod's own limit, which is that of the mean speed,
// from ending it first.
TEST_F(SeparateDebugInfo, FromAServerThatStopsInTheMiddle) {
    make_module("m.ko", module_text);
    shell("strip -g m.ko");
    const Server server(made_.folder(), "stops");
    fetched_.set(at("fetched"));
    servers_.set(server.url());
    timeout_.set("2");
    const std::string failure = open("m.ko").failure;
    EXPECT_NE(failure.find(": the server did not send anything for 2 s"), std::string::npos)
        << failure;
}

} // namespace
} // namespace djstap
