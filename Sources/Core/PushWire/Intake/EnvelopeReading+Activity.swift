import PushModel

/// Live Activities: the member `live_activity`, and what goes with it.
extension EnvelopeReading {
    /// Returns the type and the default priority of a message with `live_activity`; nil for any other message.
    func activityOptions(for codec: any ServiceCodec) throws(Rejection) -> (MessageType, PushPriority)? {
        guard let live = position(.liveActivity) else { return nil }
        guard let type = codec.activityType else { throw codec.withoutActivities }
        guard json.kind(live) == .object else { throw wrongType(of: .liveActivity, at: live, expected: "an object") }
        // Devices allow few updates of priority 10 in an hour; those with an alert are worth one.
        return (type, json.member("alert", of: live) == nil ? .five : .ten)
    }

    func activityPayload(
        at live: IndexedJSON.Position, for options: MessageOptions, codec: any ServiceCodec, index: inout JSONIndex
    ) throws(Rejection) -> JudgedPayload {
        let rendered = try codec.payload(fromActivity: IndexedObject(json, at: live), at: now, for: options)
        return try judged(rendered.bytes, activity: rendered.activity, for: options, codec: codec, index: &index)
    }

    /// Checks that a message about Live Activities goes where it can have an effect, and at once. What a producer says in
    /// a payload of its own to other audiences is its own affair.
    func check(_ activity: ActivityPart?, to audience: Audience, isScheduled: Bool) throws(Rejection) {
        guard let activity else {
            throw Rejection(
                .badAudience, detail: "activities needs live_activity, or a payload of push_type liveactivity")
        }
        if activity.event == .start {
            guard audience.isOfActivities else { return }
            throw Rejection(
                .badAudience, detail: "a start goes to users, tags, all or devices; its activity exists only after it")
        }
        guard activity.isStamped || audience.isOfActivities else { return }
        switch audience {
        case .activities, .devices, .tokens: break
        case .users, .tags, .everyone:
            throw Rejection(
                .badAudience,
                detail: "an \(activity.event) goes to activities, devices or tokens; to others it would concern all "
                    + "activities of a person")
        }
        if isScheduled {
            throw Rejection(
                .badField, detail: "not_before: the \(activity.event) of a Live Activity is sent at once or not at all")
        }
    }
}
