import PushAPI
import PushLogic
import PushModel
import PushStore
import PushTime

/// What holds up messages, from the router and the gateways.
struct ServedObstacles: MessageObstacles {
    let pipeline: Pipeline
    let gateways: ServedGateways

    func obstacle(of message: MessageSummary) async -> MessageObstacle? {
        guard let app = AppID(message.app), let shown = message.seq else { return nil }
        if let time = message.request.notBeforeAt, time > .current() {
            return MessageObstacle(.scheduled, "it is scheduled for a later time", nextAttemptAt: time)
        }
        guard let node = pipeline.node, let part = PartitionID(message.part ?? 0) else {
            return await own(shown, of: app)
        }
        let number = EventNumber.base(of: part.number) + shown
        // The owner of its partition has the message in memory.
        guard case .other(let owner, _) = node.owners[part] else { return await own(number, of: app) }
        return try? await node.ask(NodeQuestion(.obstacle, app: app, message: number), of: owner)
    }

    /// Returns what holds up a message on this node.
    func own(_ number: UInt64, of app: AppID) async -> MessageObstacle? {
        let served = await gateways.statuses().first { $0.app.id == app }
        let progress = await pipeline.router.progress(of: number)
        return MessageObstacle(app: app, served: served, progress: progress, fault: pipeline.obstacle, now: .current())
    }
}

extension MessageObstacle {
    /// Decides what holds up a message that is due: what holds up all of them comes first.
    init?(app: AppID, served: ServedStatus?, progress: MessageProgress?, fault: String?, now: WallTime) {
        if let fault {
            self.init(.ledger, fault)
        } else if let time = served?.pausedAt {
            self.init(.paused, "an operator has paused the app \(app)", since: time)
        } else if let trouble = progress?.trouble {
            self.init(.registry, "the registry cannot look up its devices: \(trouble)")
        } else if let served, !served.hasSent || progress?.unanswered.count ?? 0 == 0, let obstacle = served.obstacle {
            self.init(
                .connection, "\(app): \(obstacle)",
                nextAttemptAt: served.timeToNextAttempt.map { now.adding(milliseconds: $0.wholeMilliseconds) })
        } else if served == nil {
            self.init(.appRemoved, "the configuration does not have the app \(app)")
        } else if let progress, progress.unanswered.count > 0 {
            self.init(
                .unanswered, "\(Self.deliveries(progress.unanswered.count)) at the gateway, no answer yet",
                since: progress.unanswered.oldest)
        } else if let progress, progress.retrying > 0 {
            self.init(
                .retry, Self.retry(progress),
                nextAttemptAt: progress.nextAttempt.map { now.adding(milliseconds: $0.after.wholeMilliseconds) })
        } else {
            self.init(
                .queued,
                progress?.hasBegun == true
                    ? "its devices are being looked up and sent to" : "other messages of the app come before it")
        }
    }

    private static func deliveries(_ count: Int) -> String { count == 1 ? "1 delivery is" : "\(count) deliveries are" }

    private static func retry(_ progress: MessageProgress) -> String {
        let attempt = progress.nextAttempt.map { "attempt \($0.number)" } ?? "another attempt"
        return progress.retrying == 1
            ? "its delivery was deferred, and waits for \(attempt)"
            : "\(progress.retrying) deliveries were deferred, and wait for another attempt"
    }
}
