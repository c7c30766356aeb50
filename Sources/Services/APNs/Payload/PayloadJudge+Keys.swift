import PushText
import PushWire

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
        ("target-content-id", .string),
        ("interruption-level", .words(["passive", "active", "time-sensitive", "critical"])),
        ("relevance-score", .number), ("filter-criteria", .string), ("content-changed", .bool), ("url-args", .strings),
        ("event", .words(["start", "update", "end"])), ("content-state", .object), ("timestamp", .time),
        ("stale-date", .time), ("dismissal-date", .time), ("attributes-type", .string), ("attributes", .object),
        ("input-push-token", .one), ("input-push-channel", .string), ("encryptedData", .string),
        ("sessionIdentifier", .string), ("keyID", .string), ("messageIndex", .string),
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
    mutating func judgeKeys(of aps: JSONDocument.Position) {
        for member in document.members(aps) {
            let key = document.string(member.key) ?? ""
            guard let rule = Self.apsKeys.first(where: { $0.name == key }) else {
                judgeUnknown(member, key: key, prefix: "aps.", known: Self.apsKeys.map(\.name))
                continue
            }
            check(member.value, at: "aps.\(key)", shape: rule.shape)
            if key == "relevance-score", options.pushType != .liveactivity {
                check(member.value, at: "aps.\(key)", shape: .share)
            }
            guard document.kind(member.value) == .object else { continue }
            if key == "alert" { judgeAlert(member.value) }
            if key == "sound" { judgeSound(member.value) }
        }
    }

    private mutating func judgeUnknown(
        _ member: JSONDocument.Member, key: String, prefix: String, known: [String]
    ) {
        guard !findings.isFull else { return }
        let name = PlainText.name(key)
        let offset = document.offset(member.key)
        if let near = NearestWord.to(key, in: known) {
            findings.add(
                .misspeltKey, severity: .ignored, path: "\(prefix)\(name)", problem: "there is no such key",
                advice: "did you mean \(near)?", at: offset)
        } else if prefix == "aps." {
            findings.add(
                .customInsideAps, severity: .ignored, path: "\(prefix)\(name)",
                problem: "the app cannot read its own keys inside aps",
                advice: "move it beside aps", at: offset)
        } else {
            findings.add(
                .unknownKey, severity: .ignored, path: "\(prefix)\(name)", problem: "there is no such key",
                advice: "remove it; the app's own keys belong beside aps", at: offset)
        }
    }

    private mutating func judgeObject(
        _ object: JSONDocument.Position, prefix: String, rules: [(name: String, shape: ValueShape)],
        legacy: Set<String> = []
    ) {
        for member in document.members(object) {
            let key = document.string(member.key) ?? ""
            if let rule = rules.first(where: { $0.name == key }) {
                check(member.value, at: "\(prefix)\(key)", shape: rule.shape)
            } else if legacy.contains(key) {
                findings.add(
                    .legacyKey, severity: .ignored, path: "\(prefix)\(key)",
                    problem: "no current system version reads it", advice: "remove it",
                    at: document.offset(member.key))
            } else {
                judgeUnknown(member, key: key, prefix: prefix, known: rules.map(\.name))
            }
        }
    }

    private mutating func judgeAlert(_ alert: JSONDocument.Position) {
        guard options.pushType == .liveactivity else {
            judgeObject(alert, prefix: "aps.alert.", rules: Self.alertKeys, legacy: Self.legacyAlertKeys)
            judgeArguments("title-loc-args", of: "title-loc-key", in: alert, prefix: "aps.alert.")
            judgeArguments("subtitle-loc-args", of: "subtitle-loc-key", in: alert, prefix: "aps.alert.")
            judgeArguments("loc-args", of: "loc-key", in: alert, prefix: "aps.alert.")
            return
        }
        judgeObject(alert, prefix: "aps.alert.", rules: Self.activityAlertKeys)
        for key: StaticString in ["title", "body"] {
            guard let text = document.value(key, in: alert), document.kind(text) == .object else { continue }
            judgeObject(text, prefix: "aps.alert.\(key).", rules: Self.activityTextKeys)
            judgeArguments("loc-args", of: "loc-key", in: text, prefix: "aps.alert.\(key).")
        }
    }

    private mutating func judgeArguments(
        _ arguments: StaticString, of key: StaticString, in object: JSONDocument.Position, prefix: String
    ) {
        guard let given = document.value(arguments, in: object), document.value(key, in: object) == nil else { return }
        findings.add(
            .argumentsWithoutKey, severity: .ignored, path: "\(prefix)\(arguments)",
            problem: "\(key), whose placeholders they fill, is missing",
            advice: "add \(key), or remove them", at: document.offset(given))
    }

    private mutating func judgeSound(_ sound: JSONDocument.Position) {
        judgeObject(sound, prefix: "aps.sound.", rules: Self.soundKeys)
        if document.value("name", in: sound) == nil {
            findings.add(
                .criticalWithoutSound, severity: .ignored, path: "aps.sound.name",
                problem: "a sound without a name is silent",
                advice: "name a sound of the app, or default", at: document.offset(sound))
        }
    }

    // MARK: Shapes

    mutating func check(_ value: JSONDocument.Position, at path: String, shape: ValueShape) {
        let kind = document.kind(value)
        switch shape {
        case .string: expect(kind.isString, toBe: "a string", of: value, at: path)
        case .stringOrObject:
            expect(kind.isString || kind == .object, toBe: "a string or an object", of: value, at: path)
        case .object: expect(kind == .object, toBe: "an object", of: value, at: path)
        case .array: expect(kind == .array, toBe: "an array", of: value, at: path)
        case .number: expect(kind.isNumber, toBe: "a number", of: value, at: path)
        case .bool: expect(kind.isBool, toBe: "true or false", of: value, at: path)
        case .strings:
            let areAll = kind == .array && document.elements(value).allSatisfy { document.kind($0).isString }
            expect(areAll, toBe: "an array of strings", of: value, at: path)
        case .one, .zeroOrOne:
            guard expect(kind.isNumber, toBe: "the number 1", of: value, at: path) else { return }
            let number = document.double(value)
            if number != 1, !(shape == .zeroOrOne && number == 0) {
                addOutOfRange(value, at: path, problem: "only 1 has an effect", advice: "write 1, or leave it out")
            }
        case .count:
            guard expect(kind.isNumber, toBe: "a number", of: value, at: path) else { return }
            if document.integer(value).map({ $0 < 0 }) ?? true {
                addOutOfRange(
                    value, at: path, problem: "it is not a whole number from 0", advice: "write 0 to remove the badge")
            }
        case .time: checkTime(value, at: path)
        case .words(let words): checkWord(value, at: path, of: words)
        case .share:
            // As a second rule this one does not report values that are not numbers, since the first rule does.
            if !kind.isNumber, path == "aps.relevance-score" { return }
            guard expect(kind.isNumber, toBe: "a number", of: value, at: path) else { return }
            if document.double(value).map({ !(0...1).contains($0) }) ?? true {
                addOutOfRange(value, at: path, problem: "it is not from 0 to 1", advice: "write 0 to 1")
            }
        }
    }

    /// Adds a finding unless the value is as expected. Returns whether it is.
    @discardableResult
    private mutating func expect(
        _ isExpected: Bool, toBe expected: String, of value: JSONDocument.Position, at path: String
    ) -> Bool {
        if isExpected { return true }
        findings.add(
            .wrongType, severity: .ignored, path: path, problem: "it is \(document.kind(value).name)",
            advice: "write \(expected)", at: document.offset(value))
        return false
    }

    private mutating func addOutOfRange(
        _ value: JSONDocument.Position, at path: String, problem: String, advice: String
    ) {
        findings.add(
            .outOfRange, severity: .ignored, path: path, problem: problem, advice: advice, at: document.offset(value))
    }

    private mutating func checkWord(_ value: JSONDocument.Position, at path: String, of words: [String]) {
        let word = document.string(value)
        if let word, words.contains(word) { return }
        let list = words.joined(separator: ", ")
        guard expect(document.kind(value).isString, toBe: "one of \(list)", of: value, at: path), let word else {
            return
        }
        let near = NearestWord.to(word, in: words)
        findings.add(
            .unknownWord, severity: .ignored, path: path, problem: "it is not one of \(list)",
            advice: near.map { "did you mean \($0)?" } ?? "use one of these", at: document.offset(value))
    }

    private mutating func checkTime(_ value: JSONDocument.Position, at path: String) {
        let offset = document.offset(value)
        guard document.kind(value).isNumber else {
            findings.add(
                .wrongType, severity: .ignored, path: path, problem: "it is \(document.kind(value).name)",
                advice: "write seconds since 1970",
                at: offset)
            return
        }
        guard let seconds = document.double(value), seconds >= 0 else {
            findings.add(
                .outOfRange, severity: .ignored, path: path, problem: "it is not a valid time",
                advice: "write seconds since 1970", at: offset)
            return
        }
        if seconds >= Double(PayloadRules.firstUnlikelySecond) {
            findings.add(
                .milliseconds, severity: .risky, path: path, problem: "it looks like milliseconds",
                advice: "write seconds since 1970", at: offset)
        }
    }
}
