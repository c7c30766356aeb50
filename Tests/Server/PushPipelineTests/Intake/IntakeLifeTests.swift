import PushLoop
import PushModel
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushPipeline

/// Tests of starting and stopping intake, and of a producer in another language.
@Suite(.waits) struct IntakeLifeTests {
    private typealias Scene = IntakeScene

    @Test func `at the end it answers what the ledger replies, and takes no more`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            async let stopped: Void = scene.intake.stop(within: .seconds(600))
            // The stop has begun when a request is answered `busy`.
            var early = 0
            while true {
                await producer.send("push/1", Scene.envelope("late-\(early)"))
                // Wait until intake has read the request. The ledger has it and holds its reply, or it was answered
                // `busy`.
                await wait(while: await scene.intake.counts.busy == 0 && scene.ledger.facts.ids.count == early + 1)
                if scene.ledger.facts.ids.count > early + 1 {
                    early += 1
                    continue
                }
                let status = try await producer.status()
                #expect(status.status == "busy" && status.retry == 250)
                break
            }
            scene.ledger.release()
            #expect(try await producer.status() == IntakeStatus(id: "a", status: "accepted", seq: 1))
            await stopped
            let counts = await scene.intake.counts
            #expect(counts.unanswered == 0 && counts.abandoned == 0)
        }
    }

    @Test func `a ledger that does not reply does not keep it from ending`() async throws {
        try await Scene.run { scene in
            scene.ledger.hold()
            let producer = try await scene.peer()
            await producer.send("push/1", Scene.envelope("a"))
            await scene.ledger.wait { $0.ids == ["a"] }
            await scene.intake.stop(within: .milliseconds(1))
            scene.ledger.release()
            // A second stop has no effect.
            await scene.intake.stop(within: .seconds(600))
            #expect(await scene.intake.counts.droppedAcks == 1)
        }
    }

    @Test func `if one of the two cannot be bound, neither is`() async throws {
        try await Scene.run { scene in
            let taken = try #require(scene.endpoints.pull)
            var settings = IntakeSettings(router: "tcp://127.0.0.1:*", pull: taken, apps: Scene.apps)
            let second = Intake(on: scene.loop, context: scene.context, ledger: scene.ledger, settings: settings)
            let error = await #expect(throws: ZMQError.self) { _ = try await second.open() }
            #expect(error?.code == .addressInUse)
            settings.pull = nil
            settings.router = "nonsense"
            let third = Intake(on: scene.loop, context: scene.context, ledger: scene.ledger, settings: settings)
            await #expect(throws: ZMQError.self) { _ = try await third.open() }
        }
    }

    @Test func `a REQ client in Python, and more frames than anybody sends`() async throws {
        let python = try #require(await Python.path, "no Python that can import zmq")
        try await Scene.run { scene in
            let script = """
                import sys, zmq
                request = zmq.Context().socket(zmq.REQ)
                request.linger = 0
                request.connect(sys.argv[1])
                for frames in ([b"push/1", sys.argv[2].encode()], [b"push/1"] + [b"x"] * 40):
                    request.send_multipart(frames)
                    kind, status = request.recv_multipart()
                    print(kind.decode(), status.decode())
                """
            let ended = try await ChildProcess.run(
                python, ["-c", script, scene.endpoints.router ?? "", Scene.envelope("from Python")])
            let lines = ended.output.split(separator: "\n")
            #expect(ended.status == 0 && lines.count == 2, "\(ended.errors)")
            #expect(lines.first == #"ack/1 {"id":"from Python","status":"accepted","seq":1}"#)
            #expect(lines.last?.contains(#""reason":"bad_frame","detail":"push/1 with 41 frames; expected "#) == true)
        }
    }
}

/// The path of the first Python with the module `zmq`.
enum Python {
    static var path: String? {
        get async {
            for candidate in ["python3", "/usr/bin/python3"] {
                let ended = try? await ChildProcess.run(candidate, ["-c", "import zmq"])
                if ended?.status == 0 { return candidate }
            }
            return nil
        }
    }
}
