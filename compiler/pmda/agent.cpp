// SPDX-License-Identifier: GPL-2.0-or-later
#include "pmda/agent.h"

#include "pmda/host_info.h"
#include "pmda/messages.h"
#include "pmda/stored.h"
#include "session/module_loader.h"
#include "system/file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <poll.h>
#include <set>
#include <utility>

namespace djstap::pmda {

namespace {

std::string running_build_id() {
    const auto notes = read_file("/sys/kernel/notes");
    return notes ? build_id_of_notes(*notes) : "";
}

class Agent {
  public:
    Agent(pmdaInterface& dispatch, const AgentOptions& options)
        : dispatch_(dispatch), options_(options), metrics_(dispatch.domain) {
        metrics_.tell(Fact::Version, options.version);
        metrics_.tell(Fact::Release, running_release());
        metrics_.tell(Fact::BuildId, running_build_id());
        // Of an agent that was killed.
        remove_orphans_in_memory();
    }

    int run();
    Metrics& metrics() { return metrics_; }
    Clients& clients() { return clients_; }
    void publish(pmdaExt& extension) { metrics_.publish(extension); }
    pmResult* fetch(std::span<const pmID> asked, const pmdaExt& extension);
    // Takes what a client stores. Returns 0, or an error of PCP's.
    int store(const pmResult& result, int context);

  private:
    void show_recorded();
    void look();
    std::vector<ScriptFile> files();
    void drop_stored(const std::vector<ScriptFile>& of_root);
    Result<User> who_may_store(int context) const;
    void start(ScriptRun& run);
    void take(const std::string& script, SnapshotFrame frame);
    void read(ScriptRun& run);
    void end(ScriptRun& run, ScriptRun::End how);
    void stop(std::unique_ptr<ScriptRun> run);
    bool is_ending(const std::string& script) const;
    std::vector<pollfd> what_wakes() const;
    void say(const std::string& script, const std::string& text);

    pmdaInterface& dispatch_;
    const AgentOptions& options_;
    Metrics metrics_;
    std::vector<std::unique_ptr<ScriptRun>> runs_;
    // Whose files have gone or changed: they end in their own time, while pmcd is answered.
    std::vector<std::unique_ptr<ScriptRun>> ending_;
    std::string folder_problem_;
    Clients clients_;
    StoredScripts stored_;
    InfoRun info_;
    LogAllowance log_;
};

// libpcp_pmda's callbacks receive no pointer of ours.
Agent* the_agent = nullptr;

void Agent::say(const std::string& script, const std::string& text) {
    ScriptStatus& status = metrics_.script(script);
    std::string message = one_line(text);
    if (status.message == message)
        return;
    status.message = std::move(message);
    const auto logged = log_.ask(script, Clock::now());
    if (logged != LogAllowance::Answer::No)
        pmNotifyErr(LOG_WARNING, "%s: %s%s", one_line(script).c_str(), status.message.c_str(),
                    logged == LogAllowance::Answer::Last
                        ? " (it says more than the log takes in a minute)"
                        : "");
}

void Agent::show_recorded() {
    std::map<std::string, std::string> shown; // by their names in metrics
    for (const std::string& path : options_.recorded) {
        const std::string name = std::filesystem::path(path).stem().string();
        const auto [first, is_first] = shown.emplace(name_component(name), name);
        if (!is_first) {
            say(first->second, path + " is not shown: its name is that of another recording");
            continue;
        }
        auto recorded = read_frames(path);
        const std::string problem = recorded ? recorded->problem : recorded.failure().message;
        metrics_.script(name).state = problem.empty() ? "ended" : "failed";
        // What was complete is shown.
        if (recorded)
            for (SnapshotFrame& frame : recorded->frames)
                take(name, std::move(frame));
        if (!problem.empty())
            say(name, problem);
    }
}

void Agent::take(const std::string& script, SnapshotFrame frame) {
    if (const auto* description = std::get_if<DescriptionFrame>(&frame)) {
        metrics_.describe(script, *description);
    } else if (auto* globals = std::get_if<GlobalsFrame>(&frame)) {
        metrics_.show(script, std::move(*globals));
    } else if (const auto* message = std::get_if<MessageFrame>(&frame)) {
        say(script, message->text + (message->place.empty() ? "" : " near " + message->place));
    } else if (const auto* end = std::get_if<EndFrame>(&frame)) {
        metrics_.script(script).counts = end->counts;
    }
}

// What is in the folder, as far as that is known, and what is stored.
std::vector<ScriptFile> Agent::files() {
    std::vector<ScriptFile> files;
    auto found = find_scripts(options_.folder);
    if (found) {
        folder_problem_.clear();
        files = std::move(*found);
    } else {
        if (folder_problem_ != found.failure().message)
            pmNotifyErr(LOG_ERR, "%s", found.failure().message.c_str());
        folder_problem_ = found.failure().message;
        for (const auto& run : runs_)
            if (run->file().user.empty())
                files.push_back(run->file());
    }
    if (!stored_.empty())
        drop_stored(files);
    for (ScriptFile& file : stored_.files())
        files.push_back(std::move(file));
    return files;
}

// Removes what the user may not store any more, or has the name of a file that root has added.
void Agent::drop_stored(const std::vector<ScriptFile>& of_root) {
    const auto permissions = Permissions::read(options_.permissions);
    const auto removed = stored_.remove_if([&](const std::string& name, const std::string& user) {
        const auto who = user_named(user);
        return !permissions || !who || !permissions->has(*who) ||
               std::ranges::any_of(of_root, [&](const ScriptFile& file) {
                   return name_component(file.name) == name;
               });
    });
    for (const std::string& name : removed)
        pmNotifyErr(LOG_NOTICE,
                    "%s: what was stored is removed: its user may not store it any more",
                    name.c_str());
}

Result<User> Agent::who_may_store(int context) const {
    auto permissions = Permissions::read(options_.permissions);
    if (!permissions)
        return permissions.failure();
    auto user = clients_.user_of(context);
    if (user && !permissions->has(*user))
        return Failure{"user " + user->name + " is not listed in " + options_.permissions, ""};
    return user;
}

int Agent::store(const pmResult& result, int context) {
    for (int i = 0; i < result.numpmid; i++)
        if (result.vset[i]->pmid != metrics_.id_of(Fact::Store))
            return PM_ERR_PERMISSION;
    // Recordings are shown alone.
    const auto user = who_may_store(context);
    if (!user || !options_.recorded.empty()) {
        metrics_.count(Fact::Refusals);
        return PM_ERR_PERMISSION;
    }
    if (result.numpmid != 1 || result.vset[0]->numval != 1 ||
        result.vset[0]->valfmt == PM_VAL_INSITU)
        return -EINVAL;
    const pmValueBlock& value = *result.vset[0]->vlist[0].value.pval;
    if (value.vtype != PM_TYPE_STRING || value.vlen < PM_VAL_HDR_SIZE)
        return PM_ERR_TYPE;
    std::string_view text(value.vbuf, value.vlen - PM_VAL_HDR_SIZE);
    if (text.ends_with('\0'))
        text.remove_suffix(1);
    const int status = stored_.store(text, *user, [&](const std::string& name) {
        return std::ranges::any_of(runs_, [&](const auto& run) {
            return run->file().user.empty() && name_component(run->file().name) == name;
        });
    });
    if (status < 0) {
        metrics_.count(Fact::Refusals);
        return status;
    }
    metrics_.count(Fact::Stores);
    pmNotifyErr(LOG_NOTICE, "%s: user %s has stored %zu bytes",
                std::string(text.substr(0, text.find(':'))).c_str(), user->name.c_str(),
                text.size());
    return 0;
}

pmResult* Agent::fetch(std::span<const pmID> asked, const pmdaExt& extension) {
    if (std::ranges::find(asked, metrics_.id_of(Fact::Store)) != asked.end()) {
        const auto user = who_may_store(extension.e_context);
        metrics_.tell(Fact::Store, user ? "yes" : "no: " + user.failure().message);
    }
    return metrics_.fetch(asked, extension.e_prof);
}

// Starts and ends what has come, has gone or was changed.
void Agent::look() {
    std::vector<ScriptFile> found = files();
    std::set<std::string> present;
    for (const ScriptFile& file : found)
        present.insert(file.name);
    for (auto& run : runs_) {
        if (present.contains(run->file().name))
            continue;
        metrics_.remove(run->file().name);
        stop(std::move(run));
    }
    std::erase(runs_, nullptr);
    for (ScriptFile& file : found) {
        const auto known = std::ranges::find_if(
            runs_, [&](const auto& run) { return run->file().name == file.name; });
        const bool same = known != runs_.end() && (*known)->file().path == file.path &&
                          (*known)->file().changed_ns == file.changed_ns &&
                          (*known)->file().refusal == file.refusal;
        if (same)
            continue;
        if (known != runs_.end()) {
            stop(std::move(*known));
            runs_.erase(known);
        }
        metrics_.forget_values(file.name);
        ScriptStatus& status = metrics_.script(file.name);
        status.owner = file.user.empty() ? "root" : file.user;
        status.message.clear();
        status.state = file.refusal.empty() ? "waiting" : "refused";
        if (!file.refusal.empty())
            say(file.name, "refused: " + file.refusal);
        runs_.push_back(std::make_unique<ScriptRun>(std::move(file), options_.programs));
    }
    for (auto& run : runs_)
        if (!is_ending(run->file().name))
            start(*run);
}

void Agent::stop(std::unique_ptr<ScriptRun> run) {
    run->stop();
    if (run->running())
        ending_.push_back(std::move(run));
}

// A module of the same name cannot be loaded before it has gone.
bool Agent::is_ending(const std::string& script) const {
    return std::ranges::any_of(ending_,
                               [&](const auto& run) { return run->file().name == script; });
}

void Agent::start(ScriptRun& run) {
    bool started = false;
    const std::string& name = run.file().name;
    const Status begun = run.start(Clock::now(), started);
    if (!begun) {
        metrics_.script(name).state = "failed";
        say(name, begun.failure().message);
    }
    if (!started)
        return;
    metrics_.script(name).state = "running";
    metrics_.script(name).starts++;
}

void Agent::end(ScriptRun& run, ScriptRun::End how) {
    const std::string& name = run.file().name;
    const bool over = how == ScriptRun::End::Script;
    // What it showed last stays visible if it ended as it should.
    if (!over)
        metrics_.forget_values(name);
    metrics_.script(name).state = over ? "ended" : "failed";
}

void Agent::read(ScriptRun& run) {
    const std::string& name = run.file().name;
    if (run.errors_descriptor() >= 0)
        if (const auto line = run.read_errors())
            say(name, *line);
    if (run.descriptor() >= 0)
        run.read([&](SnapshotFrame frame) { take(name, std::move(frame)); });
    if (const auto how = run.ended())
        end(run, *how);
}

// pmcd's requests, and what scripts say and how they end.
std::vector<pollfd> Agent::what_wakes() const {
    std::vector<pollfd> wanted{{__pmdaInFd(&dispatch_), POLLIN, 0}};
    const auto add = [&wanted](int descriptor) {
        if (descriptor >= 0)
            wanted.push_back({descriptor, POLLIN, 0});
    };
    for (const auto& run : runs_) {
        add(run->descriptor());
        add(run->errors_descriptor());
        // Its end counts once its output has been read.
        if (run->descriptor() < 0)
            add(run->end_descriptor());
    }
    for (const auto& run : ending_)
        add(run->end_descriptor());
    add(info_.descriptor());
    return wanted;
}

int Agent::run() {
    show_recorded();
    metrics_.add_info(own_facts(options_.programs));
    if (options_.recorded.empty())
        info_.start(options_.programs.djstap);
    auto next_look = Clock::time_point();
    while (true) {
        if (options_.recorded.empty() && Clock::now() >= next_look) {
            look();
            next_look = Clock::now() + options_.between_looks;
        }
        std::vector<pollfd> wanted = what_wakes();
        const int wait_ms = static_cast<int>(options_.between_looks.count());
        if (poll(wanted.data(), wanted.size(), wait_ms) < 0)
            continue;
        for (auto& run : runs_)
            read(*run);
        if (info_.descriptor() >= 0)
            if (const auto facts = info_.read())
                metrics_.add_info(*facts);
        std::erase_if(ending_, [](const auto& run) { return run->ended().has_value(); });
        if (!wanted.front().revents)
            continue;
        metrics_.publish(*dispatch_.version.any.ext);
        if (__pmdaMainPDU(&dispatch_) < 0)
            return 0; // pmcd is gone: what was started ends with this process
    }
}

int fetch(int count, pmID* ids, pmResult** result, pmdaExt* extension) {
    *result = the_agent->fetch({ids, static_cast<size_t>(count)}, *extension);
    return 0;
}

int id_of(const char* name, pmID* id, pmdaExt*) {
    return pmdaTreePMID(the_agent->metrics().names(), name, id);
}

int names_of(pmID id, char*** names, pmdaExt*) {
    return pmdaTreeName(the_agent->metrics().names(), id, names);
}

int children_of(const char* name, int traverse, char*** children, int** status, pmdaExt*) {
    return pmdaTreeChildren(the_agent->metrics().names(), name, traverse, children, status);
}

int text_of(int id, int kind, char** text, pmdaExt* extension) {
    if (kind & PM_TEXT_PMID)
        if (const auto help =
                the_agent->metrics().help(static_cast<pmID>(id), (kind & PM_TEXT_ONELINE) != 0)) {
            *text = strdup(help->c_str());
            return *text ? 0 : -ENOMEM;
        }
    return pmdaText(id, kind, text, extension);
}

int store(pmResult* result, pmdaExt* extension) {
    return the_agent->store(*result, extension->e_context);
}

int attribute(int context, int key, const char* value, int length, pmdaExt*) {
    the_agent->clients().tell(context, key, {value, static_cast<size_t>(std::max(length, 0))});
    return 0;
}

} // namespace

int run_agent(pmdaInterface& dispatch, const AgentOptions& options) {
    Agent agent(dispatch, options);
    the_agent = &agent;
    auto& version = dispatch.version.seven;
    version.fetch = fetch;
    version.pmid = id_of;
    version.name = names_of;
    version.children = children_of;
    version.text = text_of;
    version.store = store;
    version.attribute = attribute;
    pmdaSetEndContextCallBack(&dispatch, [](int context) { the_agent->clients().forget(context); });
    // pmcd tells who its clients are.
    pmdaSetCommFlags(&dispatch, PMDA_FLAG_AUTHORIZE);
    pmdaSetResultCallBack(&dispatch, [](pmResult*) {});
    pmdaInit(&dispatch, nullptr, 0, nullptr, 0);
    pmdaConnect(&dispatch);
    if (dispatch.status)
        return 1;
    agent.publish(*dispatch.version.any.ext);
    const int status = agent.run();
    the_agent = nullptr;
    return status;
}

} // namespace djstap::pmda
