import PushLogic
import PushModel
import PushStore
import PushTime
import Testing

@testable import PushServer

/// Why a message that is due has not gone out.
@Suite struct MessageObstacleTests {
    private static let now = WallTime(milliseconds: 1_795_699_862_000)
    private let app = AppID("shop")!

    private func progress(_ change: (inout MessageProgress) -> Void) -> MessageProgress {
        var progress = MessageProgress()
        change(&progress)
        return progress
    }

    private func obstacle(
        _ served: ServedStatus?, _ progress: MessageProgress? = nil, fault: String? = nil
    ) -> MessageObstacle? {
        MessageObstacle(app: app, served: served, progress: progress, fault: fault, now: Self.now)
    }

    @Test func `What holds up all messages comes first`() throws {
        var paused = try ServedStatus.sample(.halted(GatewayHalt(.refused, message: "the provider refused the key")))
        paused.pausedAt = Self.now.adding(milliseconds: -5000)
        let disk = obstacle(paused, fault: "the disk is full")
        #expect(disk == MessageObstacle(.ledger, "the disk is full"))
        let pause = obstacle(paused)
        #expect(pause?.code == .paused && pause?.since == paused.pausedAt)
        paused.pausedAt = nil
        #expect(obstacle(paused)?.detail == "shop: halted: the provider refused the key")
        #expect(obstacle(nil)?.code == .appRemoved)
    }

    @Test func `A closed circuit breaker names the next attempt`() throws {
        let state = GatewayStatus.State.paused(for: .seconds(4), .unreachable(attempts: 5))
        let status = try ServedStatus.sample(state, failed: 5)
        let found = obstacle(status)
        #expect(found?.code == .connection && found?.nextAttemptAt == Self.now.adding(milliseconds: 4000))
        // A delivery in the queue of the gateway waits for a connection, too.
        let given = progress { $0.unanswered = AppWaits.Wait(count: 2, oldest: Self.now) }
        #expect(obstacle(status, given)?.code == .connection)
        // One that has been sent has its own reason.
        #expect(obstacle(try ServedStatus.sample(state, failed: 5, sent: 2), given)?.code == .unanswered)
    }

    @Test func `With a connection, its own deliveries and its place say what it waits for`() throws {
        let up = try ServedStatus.sample(.running, open: 1)
        #expect(obstacle(up) == MessageObstacle(.queued, "other messages of the app come before it"))
        #expect(obstacle(up, progress { $0.hasBegun = true })?.code == .queued)
        #expect(obstacle(up, progress { $0.trouble = "locked" })?.code == .registry)
        let since = Self.now.adding(milliseconds: -5000)
        let sent = obstacle(up, progress { $0.unanswered = AppWaits.Wait(count: 1, oldest: since) })
        #expect(
            sent == MessageObstacle(.unanswered, "1 delivery is at the gateway, no answer yet", since: since))
        let deferred = progress {
            $0.retrying = 1
            $0.nextAttempt = MessageProgress.Attempt(number: 3, after: .seconds(7))
        }
        #expect(
            obstacle(up, deferred)
                == MessageObstacle(
                    .retry, "its delivery was deferred, and waits for attempt 3",
                    nextAttemptAt: Self.now.adding(milliseconds: 7000)))
    }
}
