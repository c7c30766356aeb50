import JSON5
import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of the examples for backend developers.
@Suite(.waits) struct ExamplesTests {
    private static func example(_ name: String) -> String {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        return "/" + path.joined(separator: "/") + "/Tools/examples/\(name)"
    }

    /// Returns the first Python interpreter that can import zmq.
    private static func python() async throws -> String {
        for candidate in ["python3", "/usr/bin/python3"] {
            if try await ChildProcess.run(candidate, ["-c", "import zmq"]).status == 0 { return candidate }
        }
        throw ChildProcess.NotStarted(description: "no Python that can import zmq; Tools/setup installs one")
    }

    @Test(
        arguments: [
            "Producer.java", "producer.c", "producer.php", "producer.pl", "producer.py", "producer.rb", "subscriber.py",
        ])
    func `The examples fit on a screen`(_ name: String) async throws {
        let ended = try await ChildProcess.run("wc", ["-l", Self.example(name)])
        let lines = try #require(ended.output.split(separator: " ").first.flatMap { Int($0) })
        #expect(lines <= 80)
    }

    @Test func `The producer resends its message until it is acknowledged`() async throws {
        let python = try await Self.python()
        try await IntakeGround.run { ground in
            ground.answer({ _ in .failed("full") }, { _ in .failed("full") })
            let call = [Self.example("producer.py"), ground.endpoint, "shop", TrialScene.token, "Hello", "order-1"]
            let ended = try await ChildProcess.run(python, call)
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.output == "{\"id\": \"order-1\", \"status\": \"accepted\", \"seq\": 1}\n")
            #expect(ground.requests.map(\.message.id.text) == ["order-1", "order-1", "order-1"])
            let again = try await ChildProcess.run(python, call)
            #expect(again.status == 0 && again.output.contains("\"duplicate\""))
            let refused = try await ChildProcess.run(
                python, [Self.example("producer.py"), ground.endpoint, "nowhere", TrialScene.token, "Hello"])
            #expect(refused.status == 1 && refused.output.contains("unknown_app"))
        }
    }

    /// A server with events of one topic, which publishes some of them and replays all.
    private static let server = """
        import json, sys, zmq
        context = zmq.Context()
        live, replay = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        for socket in (live, replay):
            socket.linger = 0
            print(socket.bind_to_random_port("tcp://127.0.0.1"), flush=True)
        topic = b"delivery/shop/sent"
        def event(seq, prev): return json.dumps({"seq": seq, "prev": prev}).encode()
        log = [(2, 0), (3, 2), (5, 3), (8, 5), (9, 8), (12, 9), (13, 12), (15, 13), (16, 15)]
        asked = []
        def serve(error=None):
            peer, kind, text = replay.recv_multipart()
            request = json.loads(text)
            asked.append(request["since"])
            if error: return replay.send_multipart([peer, b"replay-error/1", json.dumps(error).encode()])
            found = [e for e in log[:known] if e[0] > request["since"]][:2]
            if found: replay.send_multipart([peer, b"event/1", topic, b"\\n".join(event(*e) for e in found)])
            end = {"next": found[-1][0] if found else request["since"], "oldest": 2}
            replay.send_multipart([peer, b"replay-end/1", json.dumps(end).encode()])
        def say(*events): live.send_multipart([topic, b"\\n".join(event(*e) for e in events)])
        def beat(seq): live.send_multipart([b"heartbeat", json.dumps({"seq": seq, "topics": {"delivery/shop/sent": seq}}).encode()])
        live.recv(), live.recv()  # the subscriber has subscribed
        known = 2; beat(3)        # 2 and 3 were published before
        serve()
        known = 3; say((5, 3))    # no gap
        known = 5; say((9, 8))    # 8 is missing
        serve()
        known = 6; beat(12)       # 12 is missing, and nothing follows
        serve()
        known = 7; say((12, 9), (13, 12))  # 12 is a duplicate, 13 is new
        known = 9; say((16, 15))  # 15 is missing, and the replay fails: 16 is not printed before 15
        serve({"error": "busy", "retry_after_ms": 1})
        beat(16)
        serve(), serve()
        print(json.dumps(asked), flush=True)
        live.poll(600000)
        """

    @Test func `The subscriber fills gaps by replay without duplicates`() async throws {
        let python = try await Self.python()
        let server = try ChildProcess(python, ["-c", Self.server])
        let (live, replay) = (try await server.line() ?? "", try await server.line() ?? "")
        let subscriber = try ChildProcess(
            python, [Self.example("subscriber.py"), "tcp://127.0.0.1:\(live)", "tcp://127.0.0.1:\(replay)"])
        var seqs: [Int64] = []
        while seqs.count < 9, let line = try await subscriber.line() {
            seqs.append(try #require(JSON5Reader.read(Array(line.utf8))["seq"]?.integer))
        }
        try #require(seqs == [2, 3, 5, 8, 9, 12, 13, 15, 16])
        #expect(try await server.line() == "[0, 3, 8, 12, 12, 15]")
    }
}
