package import PushModel
import PushTime

/// The limits and intervals that control the router.
package struct RouterPolicy: Sendable, Equatable {
    /// The maximum number of messages in memory, over all apps, and the bytes of their payloads and audiences.
    package var loadedMessages = 20_000
    package var loadedBytes = 48 << 20
    /// The maximum number of an app's deliveries that are at its gateway or wait to be sent again.
    package var underWay = 50_000
    /// The number of messages, and their bytes, that a lane may hold when the shared pool is full and its app's gateway
    /// has credit. Lanes that cannot send may fill the pool; this floor keeps them from blocking a lane that can. A
    /// lane that holds nothing may take one message of any size.
    package var laneFloor = 256
    package var laneFloorBytes = 256 << 10
    /// The time after which a lane that has neither sent nor completed a message counts as stalled. A stalled lane
    /// keeps at most ``load`` unsent messages in memory.
    package var stalledAfter: Duration = .seconds(1)

    /// How long a message to a Live Activity of which no address is known waits for one, unless it says so itself.
    package var activityWait: Duration = .seconds(600)

    /// The number of devices that are looked up, claimed and prepared together.
    package var page = 1000
    /// The number of messages that are read back from disk together, and the number of loaded messages below which a
    /// lane reads more.
    package var load = 256
    package var loadBelow = 512
    /// The maximum number of one app's deliveries in one tick. Then the other apps have their turn.
    package var appQuantum = 4096
    /// The maximum number of one lane's deliveries in one turn.
    package var laneQuantum = 128
    /// The maximum number of messages that a lane looks up or sends at the same time: for a brief lane and for a broad
    /// lane with fewer than ``preparedFew`` prepared devices, and for a lane with more. Broad messages may turn out to be
    /// small, and a user may have thousands of devices.
    package var begunBrief = 512
    package var begunSmall = 256
    package var begunAnyway = 32
    package var preparedFew = 16_384

    /// How long messages may wait that have no time of their own.
    package var expiry = Expiry.Policy(unlimited: .seconds(7 * 86400), singleAttempt: .seconds(10))
    /// The delay before the router retries after the ledger or the registry failed.
    package var retryBackoff = Backoff()
    /// The delay before a delivery is sent again whose answer was lost, by the number of lost answers.
    package var lostAnswerBackoff = Backoff(first: .seconds(2), maxDelay: .seconds(900))
    /// The number of lost answers after which a delivery ends as unknown. The service may have processed each attempt.
    package var maxLostAnswers: UInt8 = 16
    /// The interval at which the router ends expired messages that wait.
    package var sweep: Duration = .seconds(5)
    /// The maximum number of messages that are read back together only to find the expired ones. Fewer are read if they
    /// are large.
    package var look = 1024

    package init() {}
}
