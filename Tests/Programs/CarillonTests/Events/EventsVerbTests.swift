import Glibc
import PushAPI
import PushModel
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon events` as a process, with a control server in the test process.
@Suite(.waits) struct EventsVerbTests {
    private func accept(_ events: FakeEvents, _ ids: String...) {
        for id in ids {
            events.commit { writer, now in writer.add(accepted: LogWriter.message(id), named: 2, at: now) }
        }
    }

    @Test func `Events are listed from the end, from a number, and by topic`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "a", "b", "c")
            let last = try await scene.run("events", "--limit", "2")
            #expect(
                last.output == """
                    2026-01-01T00:00:00.000Z  2  shop: message b: accepted from a producer for 2 devices
                    2026-01-01T00:00:00.000Z  3  shop: message c: accepted from a producer for 2 devices

                    """)
            #expect(last.errors == "" && last.status == 0)
            let since = try await scene.run("events", "--since", "1", "--json")
            #expect(since.output.split(separator: "\n").count == 2)
            #expect(since.output.hasPrefix("{\"v\":1,\"seq\":2,\"prev\":1,\"ts\":1767225600000,\"family\":\"message\""))
            let none = try await scene.run("events", "--prefix", "device/")
            #expect(none.output == "" && none.errors == "no matching events\n" && none.status == 0)
            #expect(try await scene.run("events", "--since", "0", "--limit", "1").output.contains("message a"))
        }
    }

    @Test func `A list of many events is requested in pages`() async throws {
        try await withPipeline { scene in
            for segment in 0..<30 {
                scene.events.commit { writer, now in
                    for index in 0..<100 {
                        writer.add(accepted: LogWriter.message("m\(segment)-\(index)"), named: 1, at: now)
                    }
                }
            }
            let all = try await scene.run("events", "--since", "0", "--json")
            let lines = all.output.split(separator: "\n")
            #expect(lines.count == 3000 && Set(lines).count == 3000)
        }
    }

    @Test func `The option --follow prints new events until Ctrl-C`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "before")
            let child = try ChildProcess(
                ChildProcess.carillon, ["events", "--follow", "--data", scene.control.data])
            await wait(while: scene.events.waiting.waiting == 0)
            accept(scene.events, "first")
            let first = try await child.line()
            #expect(first?.contains("message first: accepted") == true, "\(first ?? "no line")")
            accept(scene.events, "second")
            let second = try await child.line()
            #expect(second?.contains("message second: accepted") == true, "\(second ?? "no line")")
            child.send(SIGINT)
            let ended = try await child.end()
            #expect(ended.status == 0 && ended.output == "" && ended.errors == "", "\(ended)")
        }
    }

    @Test func `The option --follow starts at a number and stops at the limit`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "a", "b")
            let child = try ChildProcess(
                ChildProcess.carillon,
                ["events", "--follow", "--since", "1", "--limit", "2", "--json", "--data", scene.control.data])
            #expect(try await child.line()?.contains("\"message_id\":\"b\"") == true)
            accept(scene.events, "c")
            let ended = try await child.end()
            #expect(ended.output.contains("\"message_id\":\"c\"") && ended.status == 0)
        }
    }

    @Test func `The command ends when its output is closed`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "a", "b")
            let ended = try await ChildProcess.run(
                "sh",
                [
                    "-c", "\"$0\" events --follow --since 0 --data \"$1\" | true; echo over", ChildProcess.carillon,
                    scene.control.data,
                ])
            #expect(ended.output == "over\n")
        }
    }

    @Test func `Events that retention removed are reported`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "a", "b", "c")
            scene.events.forget(2)
            let ended = try await scene.run("events", "--since", "0")
            #expect(
                ended.errors == "carillon events: events 1 to 2 are no longer stored: removed by retention\n")
            #expect(ended.output.contains("message c"))
            #expect(try await scene.run("events").errors == "")
        }
    }

    @Test func `A lost connection is reported and the command keeps waiting`() async throws {
        try await withPipeline { scene in
            accept(scene.events, "a")
            let child = try ChildProcess(
                ChildProcess.carillon, ["events", "--follow", "--since", "0", "--data", scene.control.data])
            #expect(try await child.line() != nil)
            await wait(while: scene.events.waiting.waiting == 0)
            await scene.control.server.stop(within: .zero)
            child.send(SIGINT)
            let ended = try await child.end()
            // The process may not have noticed the loss by then; the scene `restart` waits for the message.
            #expect(ended.status == 0)
            #expect(ended.errors.isEmpty || ended.errors.contains("connection lost: "), "\(ended.errors)")
        }
    }

    static let wrong: [([String], String)] = [
        (["events", "--since", "x"], "'--since' must be the sequence number of an event"),
        (["events", "--limit", "0"], "'--limit' must be a whole number"),
        (["events", "--folow"], "did you mean '--follow'?"),
        (["events", "now"], "'now' is not an option"),
        (["trace"], "give exactly one of WHAT"), (["trace", "--apns-id", "x"], "'--apns-id' must be a UUID"),
        (["trace", "m", "--user", "ada"], "give exactly one of WHAT"),
        (["messages", "--since", "soon"], "'--since' must be a time"),
        (["events", "--follow", "--until", "1m"], "'--until' cannot be combined with '--follow'"),
        (["trace", "x", "--message", "--device"], "'--message' cannot be combined with '--device'"),
        (["trace", "x", "--device"], "WHAT is not a device id"),
        (["trace", String(repeating: "a", count: 32), "--app", "shop"], "'--app' needs a message"),
        (["messages", "--state", "done"], "'--state' must be one of"),
        (["messages", "--state", "sendin"], "did you mean 'sending'?"),
        (["messages", "m", "--limit", "2"], "'--limit' cannot be combined with a message id"),
        (["stats", "--interval", "1"], "'--interval' must be a time"),
        (["stats", "--interval", "1ms"], "from 100ms to 1h"),
    ]

    @Test func `Usage errors have an explanation and an exit code`() async throws {
        try await withPipeline { scene in
            for (arguments, message) in Self.wrong {
                let ended = try await scene.run(arguments)
                #expect(ended.status == 64 && ended.output == "", "\(arguments): \(ended)")
                #expect(ended.errors.contains(message), "\(arguments): \(ended.errors)")
            }
        }
    }

    @Test(arguments: ["devices", "messages", "trace", "events", "stats"]) func `The help contains examples`(
        _ verb: String
    )
        async throws
    {
        let ended = try await ChildProcess.run(ChildProcess.carillon, [verb, "--help"])
        #expect(ended.status == 0 && ended.output.contains("Examples:\n  carillon \(verb)"))
        #expect(try await ChildProcess.run(ChildProcess.carillon, ["help"]).output.contains("\n  \(verb)"))
    }

    // MARK: Sentences

    /// The subject of the output, the members of the event, and the sentence.
    static let sentences: [(EventDescription.Subject, String, String)] = [
        (.message, #""family":"message","kind":"accepted","devices":1"#, "accepted from a producer for 1 device"),
        (
            .message, #""family":"message","kind":"accepted""#,
            "accepted from a producer for devices selected by the registry"
        ),
        (
            .none, #""family":"message","kind":"duplicate","message_id":"m""#,
            "message m: duplicate: this message was accepted before and is not sent again"
        ),
        (
            .none, #""family":"message","kind":"rejected","message_id":"m","reason":"bad_token","detail":"the 3rd""#,
            "message m: rejected: bad_token: a device token is invalid (the 3rd)"
        ),
        (
            .message, #""family":"message","kind":"completed","counts":{"sent":2,"rejected":1,"expired":0}"#,
            "completed: 2 sent, 1 rejected"
        ),
        (
            .message, #""family":"message","kind":"completed","counts":{"sent":0}"#,
            "completed: there were no devices to send to"
        ),
        (
            .message, #""family":"delivery","kind":"sent","device":"4f","attempt":1,"status":200,"latency_ms":38"#,
            "sent to device 4f: accepted by the push service (attempt 1, 38ms after the message was accepted)"
        ),
        (
            .device, #""family":"delivery","kind":"rejected","message_id":"m","status":410,"reason":"Unregistered""#,
            "message m: rejected by the push service: 410 Unregistered: the device no longer takes notifications of this app"
        ),
        (
            .message,
            #""family":"delivery","kind":"retry","device":"4f","status":429,"reason":"TooManyRequests","retry_after_ms":1500,"attempt":2"#,
            "deferred by the push service for device 4f: 429 TooManyRequests: too many notifications went to one device in a short time, retry in 1500ms (attempt 2)"
        ),
        (
            .message, #""family":"delivery","kind":"unknown","device":"4f","reason":"connection_lost","resend":true"#,
            "sent to device 4f, outcome unknown: connection lost before the response; it is sent again"
        ),
        (
            .message, #""family":"delivery","kind":"unknown","device":"4f","reason":"timeout","resend":false"#,
            "sent to device 4f, outcome unknown: timed out waiting for the response; it is not sent again (on_unknown: drop)"
        ),
        (.message, #""family":"delivery","kind":"expired","device":"4f""#, "not sent to device 4f: expired"),
        (
            .message, #""family":"delivery","kind":"suppressed","device":"4f","reason":"duplicate""#,
            "not sent to device 4f: duplicate: this message was already processed for the device"
        ),
        (
            .device, #""family":"device","kind":"deactivated","reason":"ExpiredToken""#,
            "device deactivated because the push service answered ExpiredToken: the token has expired"
        ),
        (
            .none, #""family":"device","kind":"reactivated","device":"4f""#,
            "device 4f reactivated: it was inactive and has registered again"
        ),
        (
            .none, #""family":"device","kind":"brake","state":"on","candidates":900,"answers":1000"#,
            "deactivation of devices paused: the push service rejects too many tokens at once; check topic and environment of the app; or check that the service account belongs to the Firebase project of the app (state on, candidates 900, answers 1000)"
        ),
        (
            .none, #""family":"connection","kind":"down","reason":"lost","connection":3"#,
            "connection ended: lost (connection 3)"
        ),
        (
            .none, #""family":"credential","kind":"failed","reason":"InvalidProviderToken""#,
            "credential unusable, sending halted until it is accepted or replaced: InvalidProviderToken"
        ),
        (.none, #""family":"comet","kind":"seen","reason":"x\u001b[31m""#, "comet seen: x?[31m"),
    ]

    @Test(arguments: sentences) func `Each event has a sentence`(
        _ subject: EventDescription.Subject, _ members: String, _ sentence: String
    ) throws {
        let event = try #require(EventRecord(Array("{\(members)}".utf8)))
        #expect(EventDescription(subject).sentence(event) == sentence)
    }

    @Test(arguments: ReasonTable.apns.all.map(\.names[0]))
    func `Each known reason of the push service has an explanation`(
        _ reason: String
    ) {
        let known = ReasonTable.apns.known(reason)!
        let words = ReasonDescription.answer(status: Int64(known.status), reason: reason)
        #expect(words == "\(known.status) \(reason): \(known.meaning)")
        #expect(ReasonDescription.advice(reason: reason) == known.advice)
        #expect(ReasonDescription.deactivation(reason).hasSuffix(known.meaning))
    }

    @Test func `Known codes have an explanation and unknown ones are printed unchanged`() {
        for reason in RejectionReason.allCases {
            #expect(ReasonDescription.rejection(reason.rawValue) != reason.rawValue)
        }
        for word in ["inactive", "duplicate", "unknown_device"] { #expect(ReasonDescription.suppression(word) != word) }
        for word in ["timeout", "connection_lost", "reset", "server_error"] {
            #expect(ReasonDescription.unknown(word) != word)
        }
        #expect(ReasonDescription.answer(status: 418, reason: "Teapot") == "418 Teapot")
        #expect(ReasonDescription.answer(status: nil, reason: nil) == "no reason given")
        #expect(ReasonDescription.deactivation("lost\nphone") == "of: lost?phone")
    }
}
