import PushText

/// The required form of a value.
enum ValueShape: Equatable {
    case string, stringOrObject, object, array, number, bool
    case strings
    /// The number 1 only.
    case one
    /// The number 0 or 1.
    case zeroOrOne
    /// A whole number that is not negative.
    case count
    /// Seconds since 1970.
    case time
    case words([String])
    case share
}

extension PayloadJudge {
    static let apsKeys: [(name: String, shape: ValueShape)] = [
        ("alert", .stringOrObject), ("badge", .count), ("sound", .stringOrObject), ("thread-id", .string),
        ("category", .string), ("content-available", .one), ("mutable-content", .zeroOrOne),
        ("target-content-id", .string), ("interruption-level", .words(InterruptionLevel.allCases.map(\.rawValue))),
        ("relevance-score", .number), ("filter-criteria", .string), ("content-changed", .bool), ("url-args", .strings),
        ("event", .words(["start", "update", "end"])), ("content-state", .object), ("timestamp", .time),
        ("stale-date", .time), ("dismissal-date", .time), ("attributes-type", .string), ("attributes", .object),
        ("input-push-token", .one), ("input-push-channel", .string),
    ]

    private static let alertKeys: [(name: String, shape: ValueShape)] = [
        ("title", .string), ("subtitle", .string), ("body", .string), ("launch-image", .string),
        ("title-loc-key", .string), ("title-loc-args", .strings), ("subtitle-loc-key", .string),
        ("subtitle-loc-args", .strings), ("loc-key", .string), ("loc-args", .strings),
    ]
    private static let activityAlertKeys: [(name: String, shape: ValueShape)] = [
        ("title", .stringOrObject), ("body", .stringOrObject), ("sound", .string),
    ]
    private static let activityTextKeys: [(name: String, shape: ValueShape)] = [
        ("loc-key", .string), ("loc-args", .strings),
    ]
    private static let legacyAlertKeys: Set<String> = ["action-loc-key", "action", "summary-arg", "summary-arg-count"]
    private static let soundKeys: [(name: String, shape: ValueShape)] = [
        ("critical", .zeroOrOne), ("name", .string), ("volume", .share),
    ]

    /// Checks every member of `aps` by itself: whether it is known and has the required form.
    mutating func judgeKeys(_ aps: JSONDocument.Place) {
        for member in document.members(aps) {
            let key = document.string(member.key) ?? ""
            guard let rule = Self.apsKeys.first(where: { $0.name == key }) else {
                judgeUnknown(member, key, "aps.", Self.apsKeys.map(\.name))
                continue
            }
            check(member.value, "aps.\(key)", rule.shape)
            if key == "relevance-score", options.pushType != .liveactivity { check(member.value, "aps.\(key)", .share) }
            guard document.kind(member.value) == .object else { continue }
            if key == "alert" { judgeAlert(member.value) }
            if key == "sound" { judgeSound(member.value) }
        }
    }

    private mutating func judgeUnknown(
        _ member: JSONDocument.Member, _ key: String, _ prefix: String, _ known: [String]
    ) {
        guard !findings.isFull else { return }
        let name = PayloadRules.name(key)
        let offset = document.offset(member.key)
        if let near = NearestWord.to(key, in: known) {
            findings.add(
                .ignored, .misspeltKey, "\(prefix)\(name)", "there is no such key", "did you mean \(near)?", at: offset)
        } else if prefix == "aps." {
            findings.add(
                .ignored, .customInsideAps, "\(prefix)\(name)", "the app cannot read its own keys inside aps",
                "move it beside aps", at: offset)
        } else {
            findings.add(
                .ignored, .unknownKey, "\(prefix)\(name)", "there is no such key",
                "remove it; the app's own keys belong beside aps", at: offset)
        }
    }

    private mutating func judgeObject(
        _ object: JSONDocument.Place, _ path: String, _ rules: [(name: String, shape: ValueShape)],
        legacy: Set<String> = []
    ) {
        for member in document.members(object) {
            let key = document.string(member.key) ?? ""
            if let rule = rules.first(where: { $0.name == key }) {
                check(member.value, "\(path)\(key)", rule.shape)
            } else if legacy.contains(key) {
                findings.add(
                    .ignored, .legacyKey, "\(path)\(key)", "no current system version reads it", "remove it",
                    at: document.offset(member.key))
            } else {
                judgeUnknown(member, key, path, rules.map(\.name))
            }
        }
    }

    private mutating func judgeAlert(_ alert: JSONDocument.Place) {
        guard options.pushType == .liveactivity else {
            judgeObject(alert, "aps.alert.", Self.alertKeys, legacy: Self.legacyAlertKeys)
            judgeArguments("title-loc-args", "title-loc-key", alert, "aps.alert.")
            judgeArguments("subtitle-loc-args", "subtitle-loc-key", alert, "aps.alert.")
            judgeArguments("loc-args", "loc-key", alert, "aps.alert.")
            return
        }
        judgeObject(alert, "aps.alert.", Self.activityAlertKeys)
        for key: StaticString in ["title", "body"] {
            guard let text = document.value(key, in: alert), document.kind(text) == .object else { continue }
            judgeObject(text, "aps.alert.\(key).", Self.activityTextKeys)
            judgeArguments("loc-args", "loc-key", text, "aps.alert.\(key).")
        }
    }

    private mutating func judgeArguments(
        _ arguments: StaticString, _ key: StaticString, _ object: JSONDocument.Place, _ path: String
    ) {
        guard let given = document.value(arguments, in: object), document.value(key, in: object) == nil else { return }
        findings.add(
            .ignored, .argumentsWithoutKey, "\(path)\(arguments)", "\(key), whose placeholders they fill, is missing",
            "add \(key), or remove them", at: document.offset(given))
    }

    private mutating func judgeSound(_ sound: JSONDocument.Place) {
        judgeObject(sound, "aps.sound.", Self.soundKeys)
        if document.value("name", in: sound) == nil {
            findings.add(
                .ignored, .criticalWithoutSound, "aps.sound.name", "a sound without a name is silent",
                "name a sound of the app, or default", at: document.offset(sound))
        }
    }

    // MARK: Shapes

    mutating func check(_ value: JSONDocument.Place, _ path: String, _ shape: ValueShape) {
        let kind = document.kind(value)
        let offset = document.offset(value)
        func wrong(_ wanted: String, _ findings: inout PayloadFindings) {
            findings.add(.ignored, .wrongType, path, "it is \(kind.name)", "write \(wanted)", at: offset)
        }
        switch shape {
        case .string:
            if !kind.isString { wrong("a string", &findings) }
        case .stringOrObject:
            if !kind.isString, kind != .object { wrong("a string or an object", &findings) }
        case .object:
            if kind != .object { wrong("an object", &findings) }
        case .array:
            if kind != .array { wrong("an array", &findings) }
        case .number:
            if !kind.isNumber { wrong("a number", &findings) }
        case .bool:
            if !kind.isBool { wrong("true or false", &findings) }
        case .strings:
            if kind != .array || document.elements(value).contains(where: { !document.kind($0).isString }) {
                wrong("an array of strings", &findings)
            }
        case .one, .zeroOrOne:
            guard kind.isNumber else { return wrong("the number 1", &findings) }
            let number = document.double(value)
            if number != 1, !(shape == .zeroOrOne && number == 0) {
                findings.add(
                    .ignored, .outOfRange, path, "only 1 has an effect", "write 1, or leave it out", at: offset)
            }
        case .count:
            guard kind.isNumber else { return wrong("a number", &findings) }
            if document.integer(value).map({ $0 < 0 }) ?? true {
                findings.add(
                    .ignored, .outOfRange, path, "it is not a whole number from 0", "write 0 to remove the badge",
                    at: offset)
            }
        case .time:
            checkTime(value, path)
        case .words(let words):
            guard kind.isString else { return wrong("one of \(words.joined(separator: ", "))", &findings) }
            guard let word = document.string(value), !words.contains(word) else { return }
            let near = NearestWord.to(word, in: words)
            findings.add(
                .ignored, .unknownWord, path, "it is not one of \(words.joined(separator: ", "))",
                near.map { "did you mean \($0)?" } ?? "use one of these", at: offset)
        case .share:
            // As a second rule this one does not report values that are not numbers, since the first rule does.
            guard kind.isNumber else { return path == "aps.relevance-score" ? () : wrong("a number", &findings) }
            if document.double(value).map({ !(0...1).contains($0) }) ?? true {
                findings.add(.ignored, .outOfRange, path, "it is not from 0 to 1", "write 0 to 1", at: offset)
            }
        }
    }

    private mutating func checkTime(_ value: JSONDocument.Place, _ path: String) {
        let offset = document.offset(value)
        guard document.kind(value).isNumber else {
            findings.add(
                .ignored, .wrongType, path, "it is \(document.kind(value).name)", "write seconds since 1970",
                at: offset)
            return
        }
        guard let seconds = document.double(value), seconds >= 0 else {
            findings.add(.ignored, .outOfRange, path, "it is not a valid time", "write seconds since 1970", at: offset)
            return
        }
        if seconds >= Double(PayloadRules.firstUnlikelySecond) {
            findings.add(
                .risky, .milliseconds, path, "it looks like milliseconds", "write seconds since 1970", at: offset)
        }
    }
}
