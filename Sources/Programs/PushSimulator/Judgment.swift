import PushLoop

/// A request that is being judged: the answer to it, and the record of it.
struct Judgment {
    var reaction: Reaction
    var record = Record()
    var warnings: Warnings = []
    var token = TokenBytes()
    /// The topic, or the bundle id in the path of the broadcast services.
    var topic: ByteView?
    /// The collapse id, or the channel id of the broadcast services.
    var label: ByteView?
    /// Whether it is for Live Activities, and nothing is wrong with it.
    var isForActivities = false

    init(_ reaction: Reaction) {
        self.reaction = reaction
    }

    /// Records that the client receives no answer, because of this action.
    mutating func withhold(_ action: Reaction.Action, isProcessed: Bool) {
        reaction.action = action
        record.flags.insert(.isUnanswered)
        if !isProcessed { record.flags.insert(.isUnprocessed) }
    }

    /// Replaces the answer with that of a fault rule.
    mutating func replaceAnswer(with answer: FaultRule.Answer, at now: WallTime) {
        reaction.status = answer.status
        reaction.reason = answer.reason
        reaction.customReason = answer.customReason
        // Without a timestamp in the rule, the token is dead from now on. An older time would not affect a device
        // that registered after the start of the simulator.
        reaction.timestamp = answer.timestamp ?? (answer.status == 410 ? now.milliseconds : 0)
        reaction.retryAfter = answer.retryAfter
        reaction.body = []
        reaction.channelID = []
    }
}
