-- Whatever gputopo does, likwid-topology prints what it prints without it, within two seconds, and exits with 0.
package.path = ROOT .. "/tests/likwid/?.lua;" .. package.path
local check = require("check")
local host = require("host")
host.needs(STOCK)

local fixture = ROOT .. "/tests/likwid/fixtures/h200.json"
local fake = ROOT .. "/tests/likwid/fake_gputopo"
local limit_s = 2

local function runs(environment, script)
    return host.run(script or PATCHED, "-g", environment)
end

local stock = runs({}, STOCK)

local function expect_stock(environment, why)
    local output, status, seconds = runs(environment)
    check.equal(output, stock, why)
    check.equal(status, 0, why .. ": exit status")
    check.that(seconds < limit_s, string.format("%s: took %.2f s", why, seconds))
end

local function faking(behaviour)
    return {"GPUTOPO_COMMAND=" .. fake, "FAKE_GPUTOPO=" .. behaviour, "FAKE_GPUTOPO_OUTPUT=" .. fixture}
end

check.run("the stand-in works when it behaves", function()
    for _, behaviour in ipairs({"print", "inconclusive"}) do
        check.that(runs(faking(behaviour)):find("GPU 0: NVIDIA H200", 1, true), behaviour)
    end
end)

for _, behaviour in ipairs({"fail", "complain", "hang", "deaf", "drip", "late", "crash", "half", "flood", "noise", "talk", "orphan"}) do
    check.run(behaviour, function() expect_stock(faking(behaviour), behaviour) end)
end

check.run("nothing to run", function()
    expect_stock({"GPUTOPO_COMMAND=/nonexistent"}, "no such file")
    expect_stock({"GPUTOPO_COMMAND=/etc/passwd"}, "not executable")
    expect_stock({"GPUTOPO_COMMAND=/"}, "a folder")
    expect_stock({"GPUTOPO_COMMAND=$(touch " .. WORK .. "/injected); '"}, "shell syntax")
    check.that(not io.open(WORK .. "/injected"), "the command's name was interpreted")
end)

check.run("found on PATH", function()
    local folder = WORK .. "/on path"
    os.execute(string.format("mkdir -p '%s' && ln -sf '%s' '%s/gputopo'", folder, fake, folder))
    local environment = {"PATH=" .. folder .. ":" .. os.getenv("PATH"), "FAKE_GPUTOPO_OUTPUT=" .. fixture}
    check.that(runs(environment):find("GPU 0: NVIDIA H200", 1, true), "gputopo on PATH wasn't asked")
end)

check.run("never found in the current folder", function()
    local folder = WORK .. "/current"
    os.remove(folder .. "/log")
    os.execute(string.format("mkdir -p '%s' && ln -sf '%s' '%s/gputopo' && ln -sf $(command -v timeout) $(command -v head) $(command -v cat) '%s' && ln -sf /bin/sh '%s'",
                             folder, fake, folder, folder, folder))
    local command = string.format("cd '%s' && PATH= FAKE_GPUTOPO_OUTPUT='%s' FAKE_GPUTOPO_LOG=log '%s' 2>&1", folder, fixture, PATCHED)
    local pipe = assert(io.popen(command))
    local output = pipe:read("a")
    pipe:close()
    check.that(output:find("Cache Topology", 1, true), "likwid-topology itself didn't run: " .. output)
    check.that(not io.open(folder .. "/log"), "ran ./gputopo")
end)

check.run("found beside the script", function()
    local folder = WORK .. "/moved prefix"
    os.execute(string.format("mkdir -p '%s/bin' '%s/share/lua' && cp '%s' '%s/bin/' && cp '%s/plugin/likwid/likwid_gputopo.lua' '%s/share/lua/' && ln -sf '%s' '%s/bin/gputopo'",
                             folder, folder, PATCHED, folder, ROOT, folder, fake, folder))
    local environment = {"PATH=/usr/bin:/bin", "FAKE_GPUTOPO_OUTPUT=" .. fixture}
    check.that(runs(environment, folder .. "/bin/likwid-topology"):find("GPU 0: NVIDIA H200", 1, true), "a moved prefix doesn't work")
end)

check.run("without its module", function()
    local folder = WORK .. "/alone"
    os.execute(string.format("mkdir -p '%s' && sed 's,/[^;]*/share/lua/?.lua,/nonexistent/?.lua,2g' '%s' > '%s/likwid-topology' && chmod +x '%s/likwid-topology'",
                             folder, PATCHED, folder, folder))
    local output, status = runs(faking("print"), folder .. "/likwid-topology")
    check.equal(status, 0)
    check.equal(output, stock)
end)

check.run("measures only when asked", function()
    local log = WORK .. "/asked"
    local function asked(discover)
        os.remove(log)
        os.remove(log .. ".done")
        local environment = faking("stored_after_discover")
        environment[#environment + 1] = "FAKE_GPUTOPO_LOG=" .. log
        if discover then environment[#environment + 1] = "GPUTOPO_DISCOVER=" .. discover end
        return (runs(environment)), check.read(log)
    end
    for _, value in ipairs({false, "0", "", "yes"}) do
        local output, calls = asked(value)
        check.equal(output, stock)
        check.equal(calls, "show --format json\n")
    end
    local output, calls = asked("1")
    check.that(output:find("GPU 0: NVIDIA H200", 1, true), output)
    check.equal(calls, "show --format json\ndevices --format json\ndiscover --device cuda:0 --save --quiet\n" ..
                           "discover --device cuda:1 --save --quiet\nshow --format json\n")
end)

check.run("never measures what is stored already, nor behind a gputopo that hangs", function()
    local log = WORK .. "/asked"
    for _, behaviour in ipairs({"print", "hang"}) do
        os.remove(log)
        local environment = faking(behaviour)
        environment[#environment + 1] = "FAKE_GPUTOPO_LOG=" .. log
        environment[#environment + 1] = "GPUTOPO_DISCOVER=1"
        local _, _, seconds = runs(environment)
        check.equal(check.read(log), "show --format json\n")
        check.that(seconds < limit_s, "took " .. seconds)
    end
end)

check.finish()
