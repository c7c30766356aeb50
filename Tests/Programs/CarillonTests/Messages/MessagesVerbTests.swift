import PushAPI
import PushModel
import PushStore
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon messages` as a process, with a control server in the test process.
@Suite(.waits) struct MessagesVerbTests {
    private static let device = PipelineScene.id(1)

    private func counts(sent: UInt32 = 0, rejected: UInt32 = 0, expired: UInt32 = 0) -> OutcomeCounts {
        var counts = OutcomeCounts()
        (counts.sent, counts.rejected, counts.expired) = (sent, rejected, expired)
        return counts
    }

    /// Adds the events of one message in each state.
    private func tell(_ events: FakeEvents) {
        let done = LogWriter.message("done")
        events.commit { writer, now in writer.add(accepted: done, named: 3, at: now) }
        events.commit(at: 1000) { writer, now in
            writer.add(accepted: LogWriter.message("late"), named: nil, at: now)
            writer.add(.sent(providerID: nil), of: done, to: Self.device, at: now)
            writer.add(
                .rejected(Refusal(status: 400, reason: "BadTopic"), deactivates: nil), of: done, to: Self.device,
                at: now)
            writer.add(.sent(providerID: nil), of: done, to: Self.device, at: now)
            writer.add(.messageDuplicate, message: "done", at: now)
            writer.complete(done, counts(sent: 2, rejected: 1), at: now)
        }
        events.commit(at: 2000) { writer, now in
            writer.complete(LogWriter.message("late"), counts(), isExpired: true, at: now)
            let going = LogWriter.message("going", app: PipelineScene.news)
            writer.add(accepted: going, named: 5, at: now)
            writer.add(.sent(providerID: nil), of: going, to: Self.device, at: now)
            writer.add(
                .retry(Refusal(status: 503, reason: nil), after: .seconds(1)), of: going, to: Self.device, at: now)
            writer.add(.unknown(.timeout, isFinal: false), of: going, to: Self.device, at: now)
            writer.add(.unknown(.timeout, isFinal: true), of: going, to: Self.device, at: now)
            writer.add(
                .messageRejected, message: "bad", reason: "bad_payload",
                details: [.init("detail", value: .text("no JSON"))],
                at: now)
            writer.add(accepted: LogWriter.message("new"), named: 1, at: now)
        }
    }

    @Test func `Messages are listed from the end, by state and by app`() async throws {
        try await withPipeline { scene in
            #expect(try await scene.run("messages").output == "There are no matching messages in the stored events.\n")
            tell(scene.events)
            let all = try await scene.run("messages")
            #expect(
                all.output == """
                      accepted                  app   message  state      devices  sent  rejected  expired  suppressed  superseded  unknown  cancelled
                      2026-01-01T00:00:02.000Z  shop  new      waiting    1        0     0         0        0           0           0        0
                      -                         shop  bad      rejected   -        0     0         0        0           0           0        0
                      2026-01-01T00:00:02.000Z  news  going    sending    5        1     0         0        0           0           1        0
                      2026-01-01T00:00:01.000Z  shop  late     expired    -        0     0         0        0           0           0        0
                      2026-01-01T00:00:00.000Z  shop  done     completed  3        2     1         0        0           0           0        0

                    """)
            #expect(all.status == 0 && all.errors == "")
            let open = try await scene.run("messages", "--state", "waiting,sending", "--json")
            #expect(open.output.split(separator: "\n").count == 2)
            #expect(
                open.output.hasPrefix(
                    """
                    {"acceptances":1,"accepted_at":1767225602000,"app":"shop","counts":{"cancelled":0,"expired":0,"rejected":0,"sent":0,\
                    "superseded":0,"suppressed":0,"unknown":0},"devices":1,"duplicates":0,"message_id":"new","retries":0,"seq":16,\
                    "state":"waiting","whole":true}

                    """), "\(open.output)")
            let news = try await scene.run("messages", "--app", "news", "--json")
            #expect(news.output.split(separator: "\n").count == 1 && news.output.contains("\"retries\":2"))
            let user = try await scene.run("messages", "--user", "ada")
            #expect(user.output.contains("events store only the first 10 users of a message"), "\(user.output)")
        }
    }

    @Test func `One message is shown with its outcome`() async throws {
        try await withPipeline { scene in
            tell(scene.events)
            let done = try await scene.run("messages", "done")
            #expect(
                done.output == """
                      message          done
                      app              shop
                      state            completed
                      accepted         2026-01-01T00:00:00.000Z
                      submitted again  1 time
                      for              3 devices
                      outcome          2 sent, 1 rejected
                      completed        2026-01-01T00:00:01.000Z

                    """)
            let bad = try await scene.run("messages", "bad")
            #expect(bad.output.contains("because  bad_payload: the payload is invalid for its push type"))
            #expect(bad.output.contains("detail   no JSON"))
            let waiting = try await scene.run("messages", "new")
            #expect(waiting.output.contains("so far    nothing"))
            let nobody = try await scene.run("messages", "nobody")
            #expect(nobody.status == 65 && nobody.errors.contains("there is no message \"nobody\" in the kept events"))
            let late = try await scene.run("messages", "late", "--json")
            #expect(late.output.contains("\"state\":\"expired\"") && !late.output.contains("\"devices\""))
        }
    }

    @Test func `An id of two apps needs the app, and unusual ids reach the server`() async throws {
        try await withPipeline { scene in
            let odd = "a/b ?&%ä"
            scene.events.commit { writer, now in
                for app in [PipelineScene.shop, PipelineScene.news] {
                    writer.add(accepted: LogWriter.message("twin", app: app), named: 1, at: now)
                }
                writer.add(accepted: LogWriter.message(odd), named: 1, at: now)
            }
            let both = try await scene.run("messages", "twin")
            #expect(
                both.status == 65
                    && both.errors.contains("the apps news, shop each have a message with this id; name the app"))
            #expect(try await scene.run("messages", "twin", "--app", "news").output.contains("app       news"))
            #expect(try await scene.run("messages", odd).output.contains("message   \(odd)"))
        }
    }

    /// Anyone who may push can send an envelope without an app under the id of a message.
    @Test func `A rejection that names no app does not hide the message with its id`() async throws {
        try await withPipeline { scene in
            scene.events.commit { writer, now in
                writer.add(accepted: LogWriter.message("order"), named: 1, at: now)
                for id in ["order", "nameless"] {
                    writer.add(.messageRejected, message: id, reason: "missing_field", at: now)
                }
            }
            let order = try await scene.run("messages", "order")
            #expect(order.output.contains("app       shop") && order.output.contains("state     waiting"))
            #expect(try await scene.run("messages", "nameless").output.contains("rejected"))
        }
    }

    @Test func `Messages on old pages have their final state`() async throws {
        try await withPipeline { scene in
            let messages = (0..<450).map { LogWriter.message("m\($0)") }
            for message in messages {
                scene.events.commit { writer, now in
                    for _ in 0..<20 { writer.add(.connectionUp, at: now) }
                    writer.add(accepted: message, named: 1, at: now)
                }
            }
            scene.events.commit { writer, now in
                for message in messages.dropLast() { writer.complete(message, counts(sent: 1), at: now) }
            }
            var (ids, cursor): ([String], String?) = ([], nil)
            repeat {
                let page = try await scene.control.client.ask(
                    "GET", at: "/v1/messages" + APIQuery.encoded([("limit", "180"), ("after", cursor)]),
                    for: MessagePage.self)
                ids += page.messages.map(\.id)
                #expect(page.messages.allSatisfy { $0.state == ($0.id == "m449" ? .waiting : .completed) })
                cursor = page.next
            } while cursor != nil
            #expect(ids == messages.reversed().map(\.id.text))
            let open = try await scene.run("messages", "--state", "waiting", "--json")
            #expect(open.output.split(separator: "\n").count == 1)
            for nearby: UInt64 in [0, 1_000_000] {
                let history = MessageHistory(log: scene.events, nearby: nearby)
                let page = try await history.list(MessageHistory.Filter(), before: 2000, limit: 3)
                #expect(page.messages.map(\.id) == ["m94", "m93", "m92"])
                #expect(page.messages.allSatisfy { $0.state == .completed && $0.counts.sent == 1 })
            }
        }
    }

    @Test func `An id that was accepted twice is one message`() async throws {
        try await withPipeline { scene in
            let message = LogWriter.message("m")
            scene.events.commit { writer, now in
                writer.add(accepted: message, named: 2, at: now)
                writer.complete(message, counts(sent: 2), at: now)
                writer.add(accepted: message, named: 3, at: now)
                writer.add(.sent(providerID: nil), of: message, to: Self.device, at: now)
            }
            let going = try await scene.run("messages", "m")
            #expect(going.output.contains("sending") && going.output.contains("2 times, for other devices"))
            #expect(going.output.contains("  5 devices\n"), "\(going.output)")
            scene.events.commit { writer, now in writer.complete(message, counts(sent: 1, rejected: 2), at: now) }
            #expect(try await scene.run("messages", "m").output.contains("outcome    3 sent, 2 rejected"))
        }
    }

    @Test func `Invalid queries are rejected`() async throws {
        try await withPipeline { scene in
            for (path, status) in [
                ("?state=done", 422), ("?after=0", 422), ("?after=x", 422), ("?limit=201", 422), ("?app=a%2Fb", 422),
                ("/nobody", 404), ("/\(String(repeating: "x", count: 129))", 422),
            ] {
                let answer = try await scene.control.client.send("GET", to: "/v1/messages" + path)
                #expect(answer.status == status, "\(path)")
            }
        }
    }
}
