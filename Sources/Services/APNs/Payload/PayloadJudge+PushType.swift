import PushModel
import PushWire

extension PayloadJudge {
    /// Checks the keys together against the rules of the push type.
    mutating func judgePushType(_ aps: JSONDocument.Position) {
        let type = options.pushType
        switch type {
        case .alert: judgeAlertPush(aps)
        case .background: judgeBackground(aps)
        case .liveactivity: judgeActivity(aps)
        case .widgets, .controls: judgeContentChanged(aps)
        case .accessory: judgeAccessory(aps)
        case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk: break
        }
        if type != .liveactivity { judgeForeignKeys(Self.activityKeys, in: aps, type: "liveactivity") }
        if type != .accessory { judgeForeignKeys(Self.accessoryKeys, in: aps, type: "accessory") }
        if type != .widgets, type != .controls {
            judgeForeignKeys(["content-changed"], in: aps, type: "widgets and controls")
        }
    }

    private static let activityKeys: [StaticString] = [
        "event", "content-state", "timestamp", "stale-date", "dismissal-date", "attributes-type", "attributes",
        "input-push-token", "input-push-channel",
    ]

    /// What an accessory needs to read the message. Their content is opaque, also to the phone.
    static let accessoryKeys: [StaticString] = ["encryptedData", "sessionIdentifier", "keyID", "messageIndex"]

    private mutating func judgeAccessory(_ aps: JSONDocument.Position) {
        for key in Self.accessoryKeys {
            require(key, in: aps, prefix: "aps.", shape: .string, advice: "give what the accessory's session has")
        }
    }

    private mutating func judgeForeignKeys(_ keys: [StaticString], in aps: JSONDocument.Position, type: String) {
        for key in keys {
            guard let value = document.value(key, in: aps) else { continue }
            findings.add(
                .keyOfAnotherType, severity: .ignored, path: "aps.\(key)",
                problem: "only the push type \(type) reads it",
                advice: "remove it, or send it with that push type", at: document.offset(value))
        }
    }

    private func has(_ key: StaticString, in aps: JSONDocument.Position) -> Bool { document.value(key, in: aps) != nil }

    private mutating func judgeAlertPush(_ aps: JSONDocument.Position) {
        // Wallet fetches the pass, whatever the notification has.
        if options.isForPass { return }
        let isVisible = has("alert", in: aps) || has("badge", in: aps) || has("sound", in: aps)
        if !isVisible, has("content-available", in: aps) {
            findings.add(
                .onlyForBackground, severity: .risky, path: "aps", problem: "it shows nothing and only wakes the app",
                advice: "send it with push type background and priority 5", at: document.offset(aps))
        } else if !isVisible {
            findings.add(
                .nothingToShow, severity: .ignored, path: "aps", problem: "it has neither alert nor badge nor sound",
                advice: "add an alert",
                at: document.offset(aps))
        } else if has("mutable-content", in: aps), !has("alert", in: aps) {
            findings.add(
                .mutableWithoutAlert, severity: .ignored, path: "aps.mutable-content",
                problem: "the app's service extension runs only for an alert", advice: "add an alert, or remove it",
                at: document.offset(aps))
        }
    }

    private mutating func judgeBackground(_ aps: JSONDocument.Position) {
        if !has("content-available", in: aps) {
            findings.add(
                .notContentAvailable, severity: .ignored, path: "aps.content-available",
                problem: "without it the app is not woken",
                advice: "set it to 1", at: document.offset(aps))
        }
        for key: StaticString in ["alert", "badge", "sound"] {
            guard let value = document.value(key, in: aps) else { continue }
            findings.add(
                .visibleInBackground, severity: .ignored, path: "aps.\(key)",
                problem: "a background notification shows nothing, and may be dropped because of it",
                advice: "remove it, or send it with push type alert", at: document.offset(value))
        }
    }

    private mutating func judgeContentChanged(_ aps: JSONDocument.Position) {
        if let value = document.value("content-changed", in: aps), document.bool(value) ?? true { return }
        findings.add(
            .contentNotChanged, severity: .ignored, path: "aps.content-changed",
            problem: "without it nothing is reloaded", advice: "set it to true",
            at: document.offset(aps))
    }

    // MARK: Live Activities

    private mutating func judgeActivity(_ aps: JSONDocument.Position) {
        require(
            "timestamp", in: aps, prefix: "aps.", shape: .time, advice: "give the current time in seconds since 1970")
        require("event", in: aps, prefix: "aps.", shape: .string, advice: "use start, update or end")
        require(
            "content-state", in: aps, prefix: "aps.", shape: .object,
            advice: "give the state that the activity is to show")
        guard let event = document.value("event", in: aps) else { return }
        if document.isString(event, equalTo: "start") {
            judgeStart(aps)
        } else {
            for key: StaticString in ["attributes-type", "attributes", "input-push-token", "input-push-channel"] {
                judgeEventKey(key, of: "start", in: aps)
            }
        }
        if !document.isString(event, equalTo: "end") { judgeEventKey("dismissal-date", of: "end", in: aps) }
        if let sound = document.value("sound", in: aps) {
            findings.add(
                .soundOutsideAlert, severity: .risky, path: "aps.sound",
                problem: "Live Activities look for it inside the alert",
                advice: "move it to aps.alert.sound", at: document.offset(sound))
        }
        if let stale = document.value("stale-date", in: aps), let staleAt = document.double(stale),
            let timestamp = document.value("timestamp", in: aps), let time = document.double(timestamp), staleAt < time
        {
            findings.add(
                .staleTooEarly, severity: .risky, path: "aps.stale-date",
                problem: "it is before the timestamp: it is stale at once",
                advice: "give a later time, or remove it", at: document.offset(stale))
        }
    }

    private mutating func judgeStart(_ aps: JSONDocument.Position) {
        if options.target == .broadcast {
            findings.add(
                .broadcastStart, severity: .ignored, path: "aps.event", problem: "a broadcast cannot start an activity",
                advice: "start it with the device's push-to-start token, and name the channel in input-push-channel",
                at: document.offset(aps))
        }
        require(
            "attributes-type", in: aps, prefix: "aps.", shape: .string,
            advice: "name the type of the activity's attributes")
        require(
            "attributes", in: aps, prefix: "aps.", shape: .object,
            advice: "give the attributes from which the activity is created")
        require(
            "alert", in: aps, prefix: "aps.", shape: .object, advice: "add an alert: a start without one is not shown")
        if has("input-push-token", in: aps), let channel = document.value("input-push-channel", in: aps) {
            findings.add(
                .twoInputs, severity: .risky, path: "aps.input-push-channel",
                problem: "an activity is updated by a token or by a channel",
                advice: "remove one of the two", at: document.offset(channel))
        }
    }

    private mutating func judgeEventKey(_ key: StaticString, of event: StaticString, in aps: JSONDocument.Position) {
        guard let value = document.value(key, in: aps) else { return }
        findings.add(
            .keyOfAnotherEvent, severity: .ignored, path: "aps.\(key)", problem: "only the event \(event) reads it",
            advice: "remove it",
            at: document.offset(value))
    }
}
