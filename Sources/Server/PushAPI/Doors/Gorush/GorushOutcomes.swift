import PushLoop
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

    /// The largest number of requests that wait.
    static let maxWaiting = 256
    private let waits = Locked(LongRequestQuota(limit: maxWaiting))
    /// Many looks at once would take the time of those who push. The waits are bounded, so that no look is refused.
    private let looks = SearchQueue(1, of: 8 * maxWaiting)

    /// The least time between two looks at the events of a message, however many others are written.
    private static let pace: Duration = .milliseconds(20)
    /// The events of other nodes do not end a wait.
    private static let poll: Duration = .milliseconds(250)

    /// The number of requests that wait.
    var waitingCount: Int { waits.withLock { $0.count } }

    /// Adds the entries of the tokens that are not reached, and of those without an outcome when the time is over.
    func completed(
        _ log: GorushLog, with sent: [Sent], for client: LongRequestQuota.Client
    ) async -> GorushLog {
        let deadline = MonotonicTime.current() + wait
        var entries = log
        guard begin(client) else {
            for one in sent {
                for token in one.push.tokens {
                    entries.append(
                        one.push.entry(.pending, token: token.text, error: "too many requests wait for outcomes"))
                }
            }
            return entries
        }
        defer { waits.withLock { $0.release(client) } }
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
            // It throws if the client has gone.
            if let place = try? await looks.enter(for: client) {
                await look(at: &open, until: deadline, adding: &entries)
                place.leave()
            }
            open.removeAll { $0.tokens.isEmpty }
            let left = deadline - MonotonicTime.current()
            guard !open.isEmpty, left > .zero, !Task.isCancelled else { break }
            await waiting.waitForEvents(after: place, for: self.log.partCount == 1 ? left : min(left, Self.poll))
            try? await Task.sleep(for: min(left, Self.pace))
        }
        for one in open {
            for token in one.tokens.values.sorted() {
                entries.append(one.sent.push.entry(.pending, token: token, error: "it has no outcome yet"))
            }
        }
        return entries
    }

    private func begin(_ client: LongRequestQuota.Client) -> Bool {
        waits.withLock { (try? $0.take(client)) != nil }
    }

    private func newest() async -> LogPosition {
        var place = LogPosition()
        // Without the bounds, the wait ends with the next event.
        for bounds in (try? await log.bounds()) ?? [] { place.raise(to: bounds.newest) }
        return place
    }

    private func look(at all: inout [Open], until deadline: MonotonicTime, adding entries: inout GorushLog) async {
        let begun = MonotonicTime.current()
        for index in all.indices { await look(at: &all[index], until: deadline, adding: &entries) }
        let now = MonotonicTime.current()
        try? await Task.sleep(for: max(.zero, min(now - begun, deadline - now)))
    }

    private func look(at open: inout Open, until deadline: MonotonicTime, adding entries: inout GorushLog) async {
        let (history, push) = (DeliveryHistory(log: log), open.sent.push)
        while MonotonicTime.current() < deadline, !Task.isCancelled,
            let page = try? await history.list(open.sent.id, app: push.app, after: open.after, limit: 1000)
        {
            for one in page.deliveries {
                open.after = one.seq
                guard let token = one.device.flatMap({ open.tokens.removeValue(forKey: $0) }),
                    one.kind != .deliverySent
                else { continue }
                entries.append(push.entry(.failed, token: token, error: one.reason ?? "\(one.kind.name)"))
            }
            guard let next = page.next else { return }
            open.after = next
        }
    }
}
