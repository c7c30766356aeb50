import PushModel
import PushStore
import PushTime

/// Waits for the outcomes of messages, for answers that have them (`doors.gorush.sync`).
struct GorushOutcomes: Sendable {
    /// A message that is carried out.
    struct Sent: Sendable {
        let push: GorushRequest.Push
        let id: MessageID
    }

    /// A message whose outcomes are not all known.
    private struct Open {
        let sent: Sent
        /// The tokens without an outcome, by the names of their devices.
        var tokens: [DeviceID: String]
        var after: UInt64 = 0
    }

    let log: any EventLog
    let waiting: CommittedEvents
    let identities: Identities
    let wait: Duration

    /// The least time between two looks at the events of a message, however many others are written.
    private static let pace: Duration = .milliseconds(20)
    /// The events of other nodes do not end a wait.
    private static let poll: Duration = .milliseconds(250)

    /// Returns the entries of the tokens that are not reached, and of those without an outcome when the time is over.
    func logs(of sent: [Sent]) async -> [GorushAnswer.Entry] {
        let deadline = MonotonicTime.current() + wait
        var logs: [GorushAnswer.Entry] = []
        var open = sent.map { one in
            Open(
                sent: one,
                tokens: Dictionary(
                    one.push.tokens.map { (identities.device(of: one.push.app, token: $0.address), $0.text) },
                    uniquingKeysWith: { first, _ in first }))
        }
        while true {
            // An event after this place may be one that the look has missed.
            let place = await newest()
            for index in open.indices { await look(at: &open[index], logs: &logs) }
            open.removeAll { $0.tokens.isEmpty }
            let left = deadline - MonotonicTime.current()
            guard !open.isEmpty, left > .zero, !Task.isCancelled else { break }
            await waiting.waitForEvents(after: place, for: log.partCount == 1 ? left : min(left, Self.poll))
            try? await Task.sleep(for: min(left, Self.pace))
        }
        for one in open {
            logs += one.tokens.values.sorted().map {
                one.sent.push.entry(.pending, token: $0, error: "it has no outcome yet")
            }
        }
        return logs
    }

    private func newest() async -> LogPosition {
        var place = LogPosition()
        // Without the bounds, the wait ends with the next event.
        for bounds in (try? await log.bounds()) ?? [] { place.raise(to: bounds.newest) }
        return place
    }

    private func look(at open: inout Open, logs: inout [GorushAnswer.Entry]) async {
        let (history, push) = (DeliveryHistory(log: log), open.sent.push)
        while let page = try? await history.list(open.sent.id, app: push.app, after: open.after, limit: 1000) {
            for one in page.deliveries {
                open.after = one.seq
                guard let token = one.device.flatMap({ open.tokens.removeValue(forKey: $0) }),
                    one.kind != .deliverySent
                else { continue }
                logs.append(push.entry(.failed, token: token, error: one.reason ?? "\(one.kind.name)"))
            }
            guard let next = page.next else { return }
            open.after = next
        }
    }
}
