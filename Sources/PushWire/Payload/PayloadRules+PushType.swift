import PushModel

extension PayloadJudge {
    /// Checks the keys together against the rules of the push type.
    mutating func judgePushType(_ aps: JSONDocument.Place) {
        let type = options.pushType
        switch type {
        case .alert: judgeAlertPush(aps)
        case .background: judgeBackground(aps)
        case .liveactivity: judgeActivity(aps)
        case .widgets, .controls: judgeContentChanged(aps)
        case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk: break
        }
        if type != .liveactivity { judgeForeign(aps, Self.activityKeys, "liveactivity") }
        if type != .widgets, type != .controls { judgeForeign(aps, ["content-changed"], "widgets and controls") }
    }

    private static let activityKeys: [StaticString] = [
        "event", "content-state", "timestamp", "stale-date", "dismissal-date", "attributes-type", "attributes",
        "input-push-token", "input-push-channel",
    ]

    private mutating func judgeForeign(_ aps: JSONDocument.Place, _ keys: [StaticString], _ type: String) {
        for key in keys {
            guard let value = document.value(key, in: aps) else { continue }
            findings.add(
                .ignored, .keyOfAnotherType, "aps.\(key)", "only the push type \(type) reads it",
                "remove it, or send it with that push type", at: document.offset(value))
        }
    }

    private func has(_ key: StaticString, _ aps: JSONDocument.Place) -> Bool { document.value(key, in: aps) != nil }

    private mutating func judgeAlertPush(_ aps: JSONDocument.Place) {
        let isVisible = has("alert", aps) || has("badge", aps) || has("sound", aps)
        if !isVisible, has("content-available", aps) {
            findings.add(
                .risky, .onlyForBackground, "aps", "it shows nothing and only wakes the app",
                "send it with push type background and priority 5", at: document.offset(aps))
        } else if !isVisible {
            findings.add(
                .ignored, .nothingToShow, "aps", "it has neither alert nor badge nor sound", "add an alert",
                at: document.offset(aps))
        } else if has("mutable-content", aps), !has("alert", aps) {
            findings.add(
                .ignored, .mutableWithoutAlert, "aps.mutable-content",
                "the app's service extension runs only for an alert", "add an alert, or remove it",
                at: document.offset(aps))
        }
    }

    private mutating func judgeBackground(_ aps: JSONDocument.Place) {
        if !has("content-available", aps) {
            findings.add(
                .ignored, .notContentAvailable, "aps.content-available", "without it the app is not woken",
                "set it to 1", at: document.offset(aps))
        }
        for key: StaticString in ["alert", "badge", "sound"] {
            guard let value = document.value(key, in: aps) else { continue }
            findings.add(
                .ignored, .visibleInBackground, "aps.\(key)",
                "a background notification shows nothing, and may be dropped because of it",
                "remove it, or send it with push type alert", at: document.offset(value))
        }
    }

    private mutating func judgeContentChanged(_ aps: JSONDocument.Place) {
        if let value = document.value("content-changed", in: aps), document.bool(value) ?? true { return }
        findings.add(
            .ignored, .contentNotChanged, "aps.content-changed", "without it nothing is reloaded", "set it to true",
            at: document.offset(aps))
    }

    // MARK: Live Activities

    private mutating func judgeActivity(_ aps: JSONDocument.Place) {
        require("timestamp", in: aps, "aps.", .time, "give the current time in seconds since 1970")
        require("event", in: aps, "aps.", .string, "use start, update or end")
        require("content-state", in: aps, "aps.", .object, "give the state that the activity is to show")
        guard let event = document.value("event", in: aps) else { return }
        if document.isString(event, "start") {
            judgeStart(aps)
        } else {
            for key: StaticString in ["attributes-type", "attributes", "input-push-token", "input-push-channel"] {
                judgeEventKey(key, "start", aps)
            }
        }
        if !document.isString(event, "end") { judgeEventKey("dismissal-date", "end", aps) }
        if let sound = document.value("sound", in: aps) {
            findings.add(
                .risky, .soundOutsideAlert, "aps.sound", "Live Activities look for it inside the alert",
                "move it to aps.alert.sound", at: document.offset(sound))
        }
        if let stale = document.value("stale-date", in: aps), let staleAt = document.double(stale),
            let timestamp = document.value("timestamp", in: aps), let time = document.double(timestamp), staleAt < time
        {
            findings.add(
                .risky, .staleTooEarly, "aps.stale-date", "it is before the timestamp: it is stale at once",
                "give a later time, or remove it", at: document.offset(stale))
        }
    }

    private mutating func judgeStart(_ aps: JSONDocument.Place) {
        if options.target == .broadcast {
            findings.add(
                .ignored, .broadcastStart, "aps.event", "a broadcast cannot start an activity",
                "start it with the device's push-to-start token, and name the channel in input-push-channel",
                at: document.offset(aps))
        }
        require("attributes-type", in: aps, "aps.", .string, "name the type of the activity's attributes")
        require("attributes", in: aps, "aps.", .object, "give the attributes from which the activity is created")
        require("alert", in: aps, "aps.", .object, "add an alert: a start without one is not shown")
        if has("input-push-token", aps), let channel = document.value("input-push-channel", in: aps) {
            findings.add(
                .risky, .twoInputs, "aps.input-push-channel", "an activity is updated by a token or by a channel",
                "remove one of the two", at: document.offset(channel))
        }
    }

    private mutating func judgeEventKey(_ key: StaticString, _ event: StaticString, _ aps: JSONDocument.Place) {
        guard let value = document.value(key, in: aps) else { return }
        findings.add(
            .ignored, .keyOfAnotherEvent, "aps.\(key)", "only the event \(event) reads it", "remove it",
            at: document.offset(value))
    }
}
