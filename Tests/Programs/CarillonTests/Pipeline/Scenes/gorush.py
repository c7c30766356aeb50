"""The door for clients of gorush: its own requests as data, retries, a kill after the answer, and hostile bodies."""
import json, threading
from http_requests import Door
from harness import main, Monitor, Scene, token, until
from raw_http import make_key

PATH = "/api/push"
A, B = token(1), token(2)
FCM = "cHk3b2Pq-1x_ZZaabbccdd:APA91bExample"
# Requests as gorush's own tests and README have them: the notifications, the status, the tokens counted, and the types
# of the entries of `logs`. Where gorush answers otherwise, the page says why.
CORPUS = [
    (None, 400, None, None),
    ([], 400, None, None),
    ([{"tokens": [FCM, "bbbbb"], "platform": 2, "message": "Welcome", "mutable_content": 1, "topic": "test",
       "badge": 1, "alert": {"title": "title", "body": "body"}}], 400, None, None),
    ([{"tokens": [FCM], "platform": 2, "message": str(n)} for n in range(101)], 400, None, None),
    ([{"tokens": [FCM, "bbbbb"], "platform": 2, "message": "Welcome Android"}], 200, 2, []),
    ([{"tokens": [A], "platform": 1, "message": "Welcome iOS"},
      {"tokens": [FCM, "ccccc"], "platform": 2, "message": "Welcome Android, too"}], 200, 3, []),
    ([{"tokens": ["token_a", "token_b"], "platform": 1, "message": "Hello World iOS!", "title": "Gorush with iOS"}],
     200, 2, ["failed-push", "failed-push"]),
    ([{"tokens": ["token_a"], "platform": 3, "message": "Hello World Huawei!"}], 400, None, None),
    ([{"tokens": [A, B], "platform": 1, "badge": 5,
       "alert": {"title": "Game Request", "body": "Bob wants to play", "action-loc-key": "PLAY"}}], 200, 2, []),
    ([{"tokens": [A], "platform": 1, "message": "You got your emails.", "badge": 9,
       "sound": {"critical": 1, "name": "default", "volume": 1.0}}], 200, 1, []),
    ([{"tokens": [A], "platform": 1, "message": "Hello", "data": {"key1": "welcome", "key2": 2}}], 200, 1, []),
    ([{"tokens": [A], "platform": 1, "production": True, "message": "Hello World iOS Production!"}], 200, 1, []),
    ([{"tokens": [A], "platform": 1, "development": True, "message": "Hello World iOS Sandbox!"}], 400, None, None),
    ([{"tokens": [A], "platform": 1, "push_type": "liveactivity",
       "topic": "com.example.shop.push-type.liveactivity", "event": "start", "timestamp": 1685952000,
       "content-state": {"homeScore": 0, "period": "1H"}, "attributes-type": "FootballMatchAttributes",
       "attributes": {"homeTeam": "Team 1"}, "alert": {"title": "Team 1 vs Team 2", "body": "Kick-off!"}}],
     200, 1, []),
    ([{"tokens": [FCM], "platform": 2, "message": "Hello", "title": "You got message",
       "fcm_options": {"analytics_label": "example"}}], 200, 1, []),
    ([{"tokens": [FCM], "platform": 2, "message": "Hello", "title": "Icons",
       "notification": {"icon": "myicon", "color": "#112244"}}], 200, 1, ["ignored-keys"]),
    ([{"tokens": [FCM], "platform": 2, "message": "Hello", "title": "Data",
       "data": {"Nick": "Mario", "body": "great match!"}}], 200, 1, []),
    ([{"topic": "highScores", "platform": 2, "message": "To a topic"}], 400, None, None),
    ([{"condition": "'dogs' in topics || 'cats' in topics", "platform": 2, "message": "x"}], 400, None, None),
    ([{"tokens": [FCM], "platform": 2, "priority": "high", "data": {"type": "xcall", "room_id": "t_47189"}}], 200, 1, []),
    ([{"tokens": [A], "platform": 1, "message": "x", "apns": {"payload": {"aps": {"sound": "x"}}}}], 200, 1,
     ["ignored-keys"]),
    ([{"tokens": [], "platform": 1, "message": "nobody"}], 200, 0, ["failed-push"]),
    ([{"tokens": [A], "platform": 1, "apns_id": "test", "topic": "com.example.shop", "priority": "normal",
       "message": "x", "badge": 0, "content_available": True, "category": "test", "url-args": ["a", "b"],
       "sound": {"critical": 1, "name": "test", "volume": 1.0}, "expiration": 4102444800}], 200, 1, ["ignored-keys"]),
    ([{"tokens": [A], "platform": 1, "message": "x", "expiration": 1}], 200, 1, ["failed-push"]),
    ([{"tokens": [A], "platform": 1, "massage": "x"}], 400, None, None),
]


def start(**door):
    scene = Scene("--fcm-port", "0")
    places = scene.simulator.places
    scene.apps["android"] = {
        "service": "fcm", "credential": {"service_account": places["service_account"]},
        "endpoint": {"host": "127.0.0.1", "port": int(places["fcm"]), "trust": places["ca"]}}
    scene.more["doors"] = {"gorush": {"apps": {"ios": "shop", "android": "android"}, **door}}
    return scene


def push(serve, key, notifications, headers={}, kind=None):
    body = {} if notifications is None else {"notifications": notifications}
    return Door(serve).ask("POST", PATH, body, kind, headers={"X-API-Key": f"{key.id}.{key.secret}", **headers})


def payloads(scene):
    return [record["payload"] for record in scene.simulator.received("&payload=true&status=200")]


def of_google(scene):
    lines = scene.simulator.ask("/fcm/received?limit=100000").splitlines()
    return [json.loads(line) for line in lines]


def kinds(answer):
    return [entry["type"] for entry in answer.json["logs"]]


def corpus():
    """Each request of gorush's tests and README has gorush's status and members, and the pushes arrive."""
    scene = start()
    serve = scene.serve()
    serve.become_ready()
    key = make_key(serve, "gorush", "push")
    wrong, wanted = [], 0
    for notifications, status, count, types in CORPUS:
        answer = push(serve, key, notifications)
        told = (answer.status, answer.json.get("counts"), kinds(answer) if answer.status == 200 else None)
        if told != (status, count, types):
            wrong.append((notifications, told, answer.body))
        if status == 200:
            assert answer.json["success"] == "ok" and set(answer.json) == {"success", "counts", "logs"}, answer
            wanted += count - types.count("failed-push")
        else:
            assert set(answer.json) == {"code", "message"} and answer.json["code"] == status, answer
    assert not wrong, wrong
    # The last line of the corpus that has no token counts none.
    wanted += sum(1 for one in CORPUS if one[2] == 0)
    until(lambda: len(scene.simulator.accepted()) + len(of_google(scene)) >= wanted)
    assert len(scene.simulator.accepted()) + len(of_google(scene)) == wanted
    sent = payloads(scene)
    for payload in (
            {"aps": {"alert": "Welcome iOS"}},
            {"aps": {"alert": {"title": "Game Request", "body": "Bob wants to play", "action-loc-key": "PLAY"},
                     "badge": 5}},
            {"aps": {"alert": "You got your emails.", "badge": 9,
                     "sound": {"critical": 1, "name": "default", "volume": 1.0}}},
            {"aps": {"alert": "Hello"}, "key1": "welcome", "key2": 2}):
        assert payload in sent, (payload, sent)
    texts = [json.dumps(one) for one in of_google(scene)]
    for part in ("xcall", "great match!", "analytics_label", "Welcome Android, too"):
        assert any(part in text for text in texts), (part, texts)
    door = Door(serve)
    assert door.ask("GET", "/healthz").status == 200 and door.ask("HEAD", "/healthz").status == 200
    refused = door.ask("POST", PATH, {"notifications": []})
    assert refused.status == 401, refused
    # Another type of body, as curl sends it, and the secret as a bearer.
    other = Door(serve, f"{key.id}.{key.secret}").ask(
        "POST", PATH, json.dumps({"notifications": [{"tokens": [A], "platform": 1, "message": "form"}]}),
        "application/x-www-form-urlencoded")
    assert other.status == 200, other
    serve.become_ready()
    until(lambda: len(scene.simulator.accepted()) + len(of_google(scene)) >= wanted + 1)
    stats = Door(serve).ask("GET", "/api/stat/app", headers={"X-API-Key": f"{key.id}.{key.secret}"})
    assert stats.status == 200 and stats.json["total_count"] == sum(c[2] or 0 for c in CORPUS) + 1, stats
    assert stats.json["ios"]["push_success"] == len(scene.simulator.accepted()), stats
    assert stats.json["huawei"] == {"push_success": 0, "push_error": 0}, stats
    # Elsewhere, the header is not a key.
    assert Door(serve).ask("GET", "/v1/stats", headers={"X-API-Key": f"{key.id}.{key.secret}"}).status == 401
    serve.stop()


def once():
    """A retry is one push, also after a kill; the same text after the window is two, and so is another name."""
    scene = start()
    serve = scene.serve()
    serve.become_ready()
    key = make_key(serve, "gorush", "push")
    note = {"tokens": [A], "platform": 1, "message": "again"}

    def count():
        """The pushes. A kill may repeat what was on its way, with the same id."""
        return len({record["apns_id"] if "apns_id" in record else record["id"]
                    for record in scene.simulator.received("&status=200")})

    # While the window runs, equal ones are one, however many come at once, and after a kill.
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(push(serve, key, [note]))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(answer.status == 200 for answer in answers), answers
    assert sorted(map(kinds, answers)) == [[]] + [["duplicate"]] * 19, [answer.body for answer in answers]
    serve.kill()
    serve = scene.serve()
    assert kinds(push(serve, key, [note])) == ["duplicate"]
    until(lambda: count() == 1)
    # What is sent again on purpose, when the window is over, is another push.
    scene.more["doors"]["gorush"]["dedupe"] = "1s"
    serve.stop()
    serve = scene.serve()
    serve.become_ready()
    for number in range(2, 5):
        until(lambda: kinds(push(serve, key, [note])) == [])
        until(lambda: count() == number)
    # Names hold for longer: each request is sent with a kill after its answer, and then again.
    before, batch = count(), []
    for number in range(20):
        named = [{"tokens": [token(n) for n in range(100, 110)], "platform": 1, "message": "named",
                  "notif_id": f"order-{number}"}]
        keyed = [{"tokens": [token(200)], "platform": 1, "message": "keyed"}] * 2
        batch.append((named, {}))
        batch.append((keyed, {"Idempotency-Key": f"try-{number}"}))
    for notifications, headers in batch:
        answer = push(serve, key, notifications, headers)
        assert answer.status == 200 and kinds(answer) == [], answer
    serve.kill()
    serve = scene.serve()
    for notifications, headers in batch:
        answer = push(serve, key, notifications, headers)
        assert answer.status == 200 and set(kinds(answer)) == {"duplicate"}, answer
    monitor = Monitor(serve, since=0)
    messages = [event["message_id"] for event in monitor.of("message/accepted")]
    monitor.completed(*messages)
    # Each is a message of its own, and its id begins with the name that its client knows.
    assert len([name for name in messages if name.startswith("gorush-order-7-")]) == 1, messages
    # A second copy goes out only if an answer was lost in the kill, and then with the same apns-id.
    assert count() == before + 20 * (10 + 2), (count(), before)
    # The same key for another request is refused, and the same name with another text is another push.
    other = push(serve, key, [{"tokens": [A], "platform": 1, "message": "other"}], {"Idempotency-Key": "try-0"})
    assert other.status == 409 and other.json["code"] == 409, other
    other = push(serve, key, [{"tokens": [A], "platform": 1, "message": "other", "notif_id": "order-0"}])
    assert other.status == 200 and kinds(other) == [], other
    # An empty key is none.
    for text in ("first of two", "second of two"):
        other = push(serve, key, [{"tokens": [A], "platform": 1, "message": text}], {"Idempotency-Key": ""})
        assert other.status == 200 and kinds(other) == [], other
    # All or nothing: the second is too large.
    before = count()
    large = push(serve, key, [{"tokens": [A], "platform": 1, "message": "first"},
                              {"tokens": [A], "platform": 1, "message": "x" * 5000}])
    assert large.status == 413, large
    serve.stop()
    assert not [name for name in payloads(scene) if name == {"aps": {"alert": "first"}}]


def killed():
    """A kill right after each of many answers: everything that was answered arrives."""
    scene = start()
    serve = scene.serve()
    serve.become_ready()
    key = make_key(serve, "gorush", "push")
    wanted = set()
    for turn in range(3):
        for number in range(30):
            text = f"turn {turn} note {number}"
            answer = push(serve, key, [{"tokens": [A], "platform": 1, "message": text}])
            assert answer.status == 200, answer
            wanted.add(text)
        serve.kill()
        serve = scene.serve()
    until(lambda: wanted <= {payload["aps"]["alert"] for payload in payloads(scene)})
    serve.stop()


def outcomes():
    """With `sync`, the answer has what became of each token, and what is not known in time."""
    scene = start(sync=True, wait="60s")
    scene.simulator.device(B, state="unregistered")
    serve = scene.serve()
    serve.become_ready()
    key = make_key(serve, "gorush", "push")
    answer = push(serve, key, [{"tokens": [A, B, "zz"], "platform": 1, "message": "sync", "notif_id": "n"},
                               {"tokens": [FCM, "UNREGISTERED-1"], "platform": 2, "message": "sync"}])
    assert answer.status == 200 and answer.json["counts"] == 5, answer
    said = {(entry["type"], entry["platform"], entry["token"]): entry for entry in answer.json["logs"]}
    assert set(said) == {("failed-push", "ios", B), ("failed-push", "ios", "zz"),
                         ("failed-push", "android", "UNREGISTERED-1")}, answer
    assert said["failed-push", "ios", B]["error"] == "Unregistered", answer
    assert said["failed-push", "ios", B]["notif_id"] == "n" and said["failed-push", "ios", B]["message"] == "sync"
    serve.stop()
    scene.more["doors"]["gorush"]["wait"] = "100ms"
    scene.apps["shop"]["limits"] = {"waiting": 1}
    serve = scene.serve()
    serve.become_ready()
    serve.verb("pause", "shop")
    answer = push(serve, key, [{"tokens": [A], "platform": 1, "message": "later"}])
    assert answer.status == 200 and kinds(answer) == ["pending-push"], answer
    # There is no room for another one, and nothing of the request is taken.
    answer = push(serve, key, [{"tokens": [FCM], "platform": 2, "message": "no"},
                               {"tokens": [A], "platform": 1, "message": "no"}])
    assert answer.status == 503 and answer.json["code"] == 503 and answer.headers["retry-after"] == "1", answer
    serve.verb("resume", "shop")
    until(lambda: {"aps": {"alert": "later"}} in payloads(scene))
    serve.stop()
    assert not [one for one in of_google(scene) if "no" == one.get("message", {}).get("notification", {}).get("body")]


def hostile():
    """Hostile bodies are refused by name and bounded, and the door is as well as before."""
    scene = start()
    serve = scene.serve()
    serve.become_ready()
    key = make_key(serve, "gorush", "push")
    good = {"tokens": [A], "platform": 1, "message": "good"}

    def ask(body):
        return Door(serve).ask("POST", PATH, body, "application/json",
                               headers={"X-API-Key": f"{key.id}.{key.secret}"})

    def of(text):
        return b'{"notifications":[' + text + b']}'

    bodies = [
        b"", b"{", b"null", b"[]", b"1", b'"x"', b"\xff\xfe", b"\x00" * 1000, b"{}", b'{"notifications":null}',
        b'{"notifications":{}}', b'{"notifications":[1]}', b'{"notifications":[null]}', of(b"{}"),
        of(b'{"platform":1,"platform":2}'), of(b'{"platform":"1"}'), of(b'{"platform":1.5}'),
        of(b'{"platform":99999999999999999999999}'), of(b'{"platform":1,"tokens":"x"}'),
        of(b'{"platform":1,"tokens":[1]}'), of(b'{"platform":1,"badge":1e999}'),
        of(b'{"platform":1,"expiration":99999999999999,"tokens":["aa"],"message":"x"}'),
        of(b'{"platform":1,"tokens":["aa"],"data":{"aps":1}}'),
        of(b'{"platform":1,"tokens":["aa"],"data":{"a":1,"a":2}}'),
        of(b'{"platform":1,"sound":5,"tokens":["aa"]}'), of(b'{"platform":1,"sound":{"x":1},"tokens":["aa"]}'),
        of(b'{"platform":1,"alert":{"title":5},"tokens":["aa"]}'),
        of(b'{"platform":2,"apns":{"payload":5},"tokens":["aa"]}'),
        of(b'{"platform":2,"android":5,"tokens":["aa"]}'),
        of(b'{"platform":2,"data":{"from":"x"},"tokens":["aa"]}'),
        of(b'{"platform":1,"push_type":"\\u0000","tokens":["aa"],"message":"x"}'),
        of(b'{"platform":1,"topic":"com.example.other","tokens":["aa"]}'),
        of(b'{"platform":1,"priority":"urgent","tokens":["aa"]}'),
        of(b"[" * 5000 + b"]" * 5000), b"[" * 500_000, of(b'{"platform":1,' + b'"data":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}"),
        b'{"notifications":[],"x":1}', of(json.dumps(good).encode() + b"," + b"{}"),
    ]
    for body in bodies:
        answer = ask(body)
        assert answer.status in (400, 413) and answer.json["code"] == answer.status and answer.json["message"], (
            body[:200], answer)
        assert len(answer.body) < 1000 and A not in answer.body.decode(), answer
    assert ask(b" " * ((1 << 20) + 1)).status == 413
    assert ask(json.dumps({"notifications": [{**good, "tokens": ["z" * 40] * 20_000}]}).encode()).status == 200
    # What repeats in each entry is cut, and the entries are bounded.
    answer = push(serve, key, [{**good, "tokens": ["x"] * 5000, "message": "M" * 100_000}])
    assert answer.status == 200 and len(answer.body) < 1 << 20, (answer.status, len(answer.body))
    assert kinds(answer) == ["failed-push"] * 1000 + ["left-out"] and answer.json["counts"] == 5000
    many = [{**good, "tokens": [token(n) for n in range(7000)], "message": "m" * 3900}]
    assert push(serve, key, many).status == 200
    answer = push(serve, key, many)
    assert kinds(answer) == ["duplicate"] * 7000 and len(answer.body) < 8 << 20, len(answer.body)
    answer = push(serve, key, [{"tokens": [FCM], "platform": 2, "notification": {f"k{n}": "" for n in range(60_000)}}])
    assert answer.status == 200 and kinds(answer) == ["ignored-keys"] and len(answer.body) < 2000, answer
    # A key that is limited to another app has no right here; a key without the role has none at all.
    limited = make_key(serve, "limited", "push", apps=["android"])
    answer = push(serve, limited, [good])
    assert answer.status == 403 and answer.json["code"] == 403, answer
    assert push(serve, make_key(serve, "observer", "observe"), [good]).status == 403
    twice = Door(serve).ask("POST", PATH, {"notifications": [good]}, bearer=f"{key.id}.{key.secret}",
                            headers={"X-API-Key": f"{key.id}.{key.secret}"})
    assert twice.status == 401, twice
    before = serve.resident
    for _ in range(200):
        push(serve, key, [{**good, "tokens": [token(n) for n in range(1000)]}])
    assert serve.resident - before < 160 << 20, serve.resident - before
    answer = push(serve, key, [{**good, "message": "still"}])
    assert answer.status == 200, answer
    until(lambda: {"aps": {"alert": "still"}} in payloads(scene))
    # Without the door there is no path.
    serve.stop()
    del scene.more["doors"]
    serve = scene.serve()
    assert push(serve, key, [good]).status == 404
    serve.stop()


main({"corpus": corpus, "once": once, "killed": killed, "outcomes": outcomes, "hostile": hostile})
