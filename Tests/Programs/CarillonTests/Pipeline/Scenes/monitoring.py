"""Metrics, health checks, and the dashboard and rules that use them."""
import fcntl, json, os, re, subprocess, tempfile, threading, time
from harness import has_message, http, main, Monitor, note, Producer, Scene, token, until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../../.."))
MONITORING = os.path.join(ROOT, "Config", "monitoring")
LINE = re.compile(r'([a-z_]+)(?:\{(.*)\})? (\S+)')
WORD = re.compile(r"\b(?:carillon|process)_[a-z0-9_]+")


def page(serve):
    status, text = http(serve.places["http"] + "/metrics")
    assert status == 200, (status, text)
    return text


def series(text):
    """Returns the values of a page by series."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in found, f"{name} is there twice"
            found[name] = float(value)
    return found


def types(text):
    return dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))


def labels(text, name):
    """Returns the label names of a metric, without `le`."""
    found = []
    for line in text.splitlines():
        if re.match(name + r"(_bucket|_sum|_count)?[{ ]", line):
            for label in re.findall(r'([a-z_]+)="', line.rsplit(" ", 1)[0]):
                if label != "le" and label not in found:
                    found.append(label)
    return found


def promtool(*words, text=None):
    """Runs promtool, which Tools/setup installs, and returns its output."""
    ended = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, cwd=MONITORING)
    assert ended.returncode == 0 and not ended.stderr.strip(), (words, ended.stdout, ended.stderr)
    return ended.stdout


def settle(serve, condition):
    """Scrapes until the condition holds."""

    def look():
        text = page(serve)
        return text if condition(series(text)) else None

    return until(look, 0.05)


def busy_scene():
    """Returns a running Carillon whose metrics all have series."""
    scene = Scene()
    scene.simulator.device("bad*", state="bad")
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.batch([note(f"m{n}", token(n)) for n in range(50)])
    producer.push(note("bad", token(1, "bad0")))
    producer.push(note("later", token(1), not_before=int(time.time()) + 3600))
    assert producer.push({"id": "x", "app": "shop"})["status"] == "rejected"
    assert producer.push(note("m1", token(1)))["status"] == "duplicate"
    monitor.completed(*(f"m{n}" for n in range(50)), "bad")
    return serve


def metric_names():
    """A real page is valid for Prometheus. The documentation names each metric with its type and labels, and the
    dashboard and the rules use no other metrics."""
    serve = busy_scene()
    http(serve.places["http"] + "/readyz")
    settle(serve, lambda now: now.get("carillon_disk_size_bytes", 0) > 0)
    text = settle(serve, lambda now: now['carillon_messages_waiting{app="shop"}'] == 0)
    # All events are published and applied in the end.
    text = settle(serve, lambda now: now["carillon_events_unpublished"] == now["carillon_registry_unapplied_events"] == 0)
    assert promtool("check", "metrics", text=text) == ""
    real = types(text)
    with open(os.path.join(ROOT, "Documentation", "Monitoring.md")) as file:
        rows = re.findall(r"^- `((?:carillon|process)_\w+)`\s\((\w+)(?:;\s([^)]*))?\):", file.read(), re.MULTILINE)
    table = {name: (kind, re.findall(r"`(\w+)`", names)) for name, kind, names in rows}
    assert len(table) == len(rows), "a metric is documented twice"
    # Only clients with keys, apps with a certificate, nodes of a cluster and webhooks have these.
    conditional = {"carillon_client_requests_total", "carillon_credential_expiry_timestamp_seconds"}
    conditional |= {name for name in table if name.startswith(("carillon_cluster_", "carillon_webhook_"))}
    assert set(table) - set(real) <= conditional, sorted(set(table) - set(real))
    assert set(real) <= set(table), f"not documented: {sorted(set(real) - set(table))}"
    for name, kind in real.items():
        assert table[name] == (kind, labels(text, name)), (name, table[name], kind, labels(text, name))
    known = set(table)
    known |= {name + end for name in table if table[name][0] == "histogram" for end in ("_bucket", "_sum", "_count")}
    for file in ("carillon.rules.yml", "carillon.rules.test.yml", "carillon.dashboard.json"):
        with open(os.path.join(MONITORING, file)) as opened:
            used = set(WORD.findall(opened.read()))
        assert len(used) > 10 and used <= known, f"{file} uses unknown metrics: {sorted(used - known)}"
    alerts = set(re.findall(r"alert: (\w+)", open(os.path.join(MONITORING, "carillon.rules.yml")).read()))
    for file in (os.path.join(MONITORING, "carillon.rules.test.yml"), os.path.join(ROOT, "Documentation/Alerts.md")):
        named = set(re.findall(r"\bCarillon[A-Z]\w+", open(file).read()))
        assert named == alerts, f"{file}: {sorted(named ^ alerts)}"
    # Every metric is on the dashboard, except those that only matter in comparison.
    dashboard = open(os.path.join(MONITORING, "carillon.dashboard.json")).read()
    for name in table:
        assert name in dashboard or name == "carillon_metrics_refused_series_total", f"{name} is not on the dashboard"
    serve.stop()


def alert_rules():
    """The rules, their tests, the example configuration and the dashboard are valid."""
    promtool("check", "rules", "carillon.rules.yml")
    promtool("test", "rules", "carillon.rules.test.yml")
    promtool("check", "config", "prometheus.yml")
    with open(os.path.join(MONITORING, "carillon.dashboard.json")) as file:
        dashboard = json.load(file)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    with open(os.path.join(MONITORING, "carillon.rules.yml")) as file:
        text = file.read()
    alerts = re.findall(r"alert: (\w+)", text)
    # Each alert and each link of a panel leads to a section of Alerts.md.
    assert re.findall(r"runbook_url: .*#(\w+)", text) == [alert.lower() for alert in alerts]
    links = [link["url"] for panel in dashboard["panels"] for link in panel.get("links", [])]
    assert len(links) > 20 and {link.partition("#")[2] for link in links} <= {alert.lower() for alert in alerts}, links
    places, queries = set(), []
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & places and place["x"] + place["w"] <= 24, f"{panel['title']} covers another panel"
        places |= cells
        for target in panel.get("targets", []):
            # Grafana replaces its variables before it sends a query.
            queries.append({"record": f"query{len(queries)}", "expr": target["expr"].replace("$__rate_interval", "1m")})
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        # JSON is YAML.
        json.dump({"groups": [{"name": "dashboard", "rules": queries}]}, file)
        file.flush()
        assert f"{len(queries)} rules found" in promtool("check", "rules", file.name) and len(queries) > 50


def stalled_log_reader():
    """A reader of the log that stalls stops nothing, and finds all lines when it goes on."""
    scene = Scene()
    path = scene.path("log")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    serve = scene.serve(wrap=("sh", "-c", 'exec "$@" 2>"$0"', path), up=False)
    serve.become_ready()
    # From here on, the pipe takes no further line.
    filler = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        while os.write(filler, b"2000 filler\n"):
            pass
    except BlockingIOError:
        os.close(filler)
    for _ in range(3):
        serve.verb("reload")
    producer, monitor = Producer(serve), Monitor(serve)
    assert producer.push(note("through", token(1)))["status"] == "accepted"
    monitor.completed("through")
    assert http(serve.places["http"] + "/healthz")[0] == 200
    assert series(http(serve.places["http"] + "/metrics")[1])["carillon_log_lines_lost_total"] == 0
    os.set_blocking(reader, True)
    lines = []

    def read():
        with os.fdopen(reader, errors="replace") as file:
            lines.extend(file)

    reading = threading.Thread(target=read)
    reading.start()
    serve.stop()
    reading.join()
    assert sum("configuration.reloaded" in line for line in lines) >= 1, lines[-5:]
    assert all(line.startswith("20") and line.endswith("\n") for line in lines), lines[-5:]


def backlog_age():
    """The age of the oldest message and the backlog are shown by app, and apps are judged alone."""
    scene = Scene()
    scene.apps["down"] = scene.app("down")
    # Nothing listens there.
    scene.apps["down"]["endpoint"] = {**scene.apps["down"]["endpoint"], "port": 9}
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    begin = time.time()
    assert producer.push(note("stuck", token(1), app="down"))["status"] == "accepted"
    assert producer.push({"id": "wide", "app": "down", "to": {"all": True}, "alert": "Hello"})["status"] == "accepted"
    producer.push(note("sent", token(1)))
    monitor.completed("sent")
    text = settle(serve, lambda now: now['carillon_oldest_waiting_seconds{app="down",audience="few"}'] >= 2)
    now = series(text)
    assert now['carillon_oldest_waiting_seconds{app="down",audience="few"}'] <= time.time() - begin + 1
    assert now['carillon_oldest_waiting_seconds{app="shop",audience="few"}'] == 0
    assert now['carillon_messages_waiting{app="shop"}'] == 0 < now['carillon_messages_waiting{app="down"}']
    assert now['carillon_app_ready{app="shop"}'] == 1 and now['carillon_app_ready{app="down"}'] == 0
    assert now["carillon_ready"] == 0
    assert now['carillon_delivery_seconds_count{app="shop"}'] == 1
    url = serve.places["http"] + "/readyz"
    assert http(url)[0] == 503 and http(url + "?app=down")[0] == 503
    status, body = http(url + "?app=shop")
    assert status == 200 and json.loads(body) == {"apps": [{"app": "shop", "ready": True}], "ready": True}, body
    status, body = http(url + "?app=nobody")
    assert status == 404 and json.loads(body)["code"] == "unknown_app", body
    assert {http(url + query)[0] for query in ("?app=%7F", "?ap=shop", "?app=shop&app=down")} == {422}
    stats = json.loads(serve.verb("stats", "--json"))
    apps = {app["app"]: app for app in stats["apps"]}
    assert apps["down"]["oldest_waiting_ms"] >= 2000 and apps["shop"]["oldest_waiting_ms"] == 0
    assert stats["backlog"]["oldest_waiting_ms"] >= apps["down"]["oldest_waiting_ms"] and apps["down"]["waiting"] >= 1
    # The age survives a restart, because the time of acceptance is on disk.
    serve.stop()
    serve = scene.serve()
    now = series(settle(serve, lambda now: now.get('carillon_messages_waiting{app="down"}', 0) > 0))
    assert now['carillon_oldest_waiting_seconds{app="down",audience="few"}'] >= 2, now
    # What waits stays visible when the app is removed from the configuration.
    del scene.apps["down"]
    serve.reload()
    now = series(page(serve))
    assert now['carillon_oldest_waiting_seconds{app="down",audience="few"}'] >= 2, now
    assert now['carillon_messages_waiting{app="down"}'] >= 1 and 'carillon_app_ready{app="down"}' not in now, now
    assert now["carillon_ready"] == 1 and http(serve.places["http"] + "/readyz?app=down")[0] == 404
    serve.stop()


def removed_app():
    """The series of a removed app end, its waiting messages stay visible, and the counters of others never decrease."""
    scene = Scene()
    scene.apps["gone"] = scene.app("gone")
    serve = scene.serve()
    serve.line("connection up")
    producer, monitor = Producer(serve), Monitor(serve)
    for app in ("shop", "gone"):
        producer.push(note("first", token(1), app=app))
    monitor.until(lambda: len(monitor.of("message/completed")) == 2)
    counter = 'carillon_deliveries_total{app="%s",kind="accepted"}'
    before = page(serve)
    assert series(before)[counter % "gone"] == series(before)[counter % "shop"] == 1
    configuration = scene.apps.pop("gone")
    serve.reload()
    text = page(serve)
    assert 'app="gone"' not in text, [line for line in text.splitlines() if "gone" in line]
    scene.apps["gone"] = configuration
    serve.reload()
    serve.line("connection up", "app=gone")
    producer.push(note("second", token(2), app="gone"))
    monitor.until(lambda: len(monitor.of("message/completed")) == 3)
    after = page(serve)
    assert series(after)[counter % "gone"] == 1
    kinds, old, new = types(before), series(before), series(after)
    for name, value in old.items():
        metric = name.split("{")[0]
        base = re.sub("_(bucket|sum|count)$", "", metric)
        if 'app="gone"' not in name and (kinds.get(metric) == "counter" or kinds.get(base) == "histogram"):
            assert new[name] >= value, f"{name} fell from {value} to {new[name]}"
    # Requests for unknown paths create no series.
    for number in range(50):
        http(f"{serve.places['http']}/{number}")
    routes = {re.search('route="([^"]*)"', line)[1] for line in page(serve).splitlines() if "carillon_http_request" in line and "{" in line}
    assert routes >= {"/healthz", "/readyz", "/metrics", "none"}, routes
    assert not any(char.isdigit() for route in routes for char in route.removeprefix("/v1/")), routes
    serve.stop()


HANG = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_while_it_hangs(void) {
    while (access(getenv("HANG_WHILE"), F_OK) == 0) usleep(1000);
}
int fsync(int file) {
    wait_while_it_hangs();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int fdatasync(int file) {
    wait_while_it_hangs();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"""


def hanging_disk():
    """While the disk does not answer, health checks, metrics and statistics answer and show it, and nothing is
    acknowledged."""
    scene = Scene()
    with open(scene.path("hang.c"), "w") as file:
        file.write(HANG)
    library, mark = scene.path("hang.so"), scene.path("hang")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, scene.path("hang.c"), "-ldl"], check=True)
    serve = scene.serve(wrap=("env", f"LD_PRELOAD={library}", f"HANG_WHILE={mark}"))
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("before", token(1)))
    monitor.completed("before")
    open(mark, "w").close()
    producer.send("push/1", note("during", token(2)))
    # Another write may hang before that of the message.
    def waits(now):
        assert not has_message(producer.socket), f"answered before its sync: {producer.answer()}"
        return now["carillon_ledger_busy_seconds"] > 1 and now["carillon_intake_unanswered"] == 1

    now = series(settle(serve, waits))
    assert now["carillon_ledger_failing"] == 0, now
    serve.become_ready("has waited", "for the disk")
    stats = json.loads(serve.verb("stats", "--json"))
    assert not stats["ready"] and "for the disk" in stats["obstacles"][0], stats
    os.remove(mark)
    kind, (status,) = producer.answer()
    assert status["status"] == "accepted", status
    monitor.completed("during")
    serve.become_ready()
    settle(serve, lambda now: now["carillon_ledger_busy_seconds"] < 1)
    serve.stop()


if __name__ == "__main__":
    main(globals())
