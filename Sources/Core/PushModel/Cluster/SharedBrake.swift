/// The state of the brake of one app, on which the nodes of a cluster agree.
package struct SharedBrake: Sendable, Equatable {
    /// Grows with each release. Answers that were counted in an earlier generation no longer count.
    package var generation: Int64
    package var isOn: Bool
    /// Whether this process has made the last change.
    package var isOwn: Bool

    package init(generation: Int64 = 0, isOn: Bool = false, isOwn: Bool = false) {
        self.generation = generation
        self.isOn = isOn
        self.isOwn = isOwn
    }
}

/// The answers of a push service about one app that a node has counted since the last release of the brake. The
/// numbers only grow while the process runs and the generation stays.
package struct BrakeCounts: Sendable, Equatable {
    package let app: AppID
    package let generation: Int64
    package var answers: UInt64
    package var misdirected: UInt64
    package var dead: UInt64

    package init(_ app: AppID, generation: Int64, answers: UInt64 = 0, misdirected: UInt64 = 0, dead: UInt64 = 0) {
        self.app = app
        self.generation = generation
        self.answers = answers
        self.misdirected = misdirected
        self.dead = dead
    }
}

/// A change of a brake that a node wants to make. It is made if no other node was first.
package struct BrakeDecision: Sendable, Equatable {
    package let app: AppID
    package let isOn: Bool
    /// The generation to which the change applies. A release begins the next one.
    package let generation: Int64
    /// The numbers in the window of the answers, for the event.
    package let candidates: Int
    package let answers: Int

    package init(_ app: AppID, isOn: Bool, generation: Int64, candidates: Int, answers: Int) {
        self.app = app
        self.isOn = isOn
        self.generation = generation
        self.candidates = candidates
        self.answers = answers
    }
}

package enum BrakeVerdict: Sendable, Equatable {
    /// The change is stored, and this node has made it.
    case stored
    /// Another node has changed the brake before.
    case overtaken
    /// It is not known whether the change is stored.
    case unknown(String)
    /// Nothing is stored.
    case failed(String)
}
