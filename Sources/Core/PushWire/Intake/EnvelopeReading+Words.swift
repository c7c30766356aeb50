import PushModel
import PushText

/// Alerts with words by locale.
extension EnvelopeReading {
    /// An alert in the words of one locale, or the alert of a message without locales.
    struct Words {
        let locale: LocaleTag?
        let alert: IndexedJSON.Position
        /// The place in the envelope, for errors.
        let pointer: String
    }

    /// Whether an alert that is an object has words by locale.
    func isLocalized(_ alert: IndexedJSON.Position) -> Bool { json.member("locales", of: alert) != nil }

    /// Returns the words of an alert. Those of the default locale come first, and the others are in the order of their
    /// locales.
    func words(of alert: IndexedJSON.Position, by rules: PlainRules) throws(Rejection) -> [Words] {
        guard json.kind(alert) == .object, isLocalized(alert) else {
            return [Words(locale: nil, alert: alert, pointer: "/alert")]
        }
        let (locales, fallback) = try members(ofLocalized: alert)
        var words: [Words] = []
        var key = locales + 1
        for _ in 0..<json.size(locales) {
            words.append(try self.words(named: key, by: rules))
            key = json.next(key + 1)
        }
        words.sort { ($0.locale?.text ?? "") < ($1.locale?.text ?? "") }
        for (one, other) in zip(words, words.dropFirst()) where one.locale == other.locale {
            throw bad(at: "\(other.pointer)", "it is given twice; case does not count, and _ is the same as -")
        }
        let name = json.string(fallback)
        guard let first = words.firstIndex(where: { $0.locale == name.flatMap { LocaleTag($0) } }) else {
            throw bad(at: "/alert/default", "\(shown(name ?? "")) is not among the locales")
        }
        words.insert(words.remove(at: first), at: 0)
        return words
    }

    private func members(
        ofLocalized alert: IndexedJSON.Position
    ) throws(Rejection) -> (locales: IndexedJSON.Position, fallback: IndexedJSON.Position) {
        var (locales, fallback) = (IndexedJSON.Position?.none, IndexedJSON.Position?.none)
        var key = alert + 1
        for _ in 0..<json.size(alert) {
            let name = json.string(key) ?? ""
            switch name {
            case "locales" where locales == nil: locales = key + 1
            case "default" where fallback == nil: fallback = key + 1
            case "locales", "default": throw bad(at: "/alert/\(name)", "it is given twice")
            default: throw bad(at: "/alert/\(shown(name))", "it stands beside locales; give it for each of them")
            }
            key = json.next(key + 1)
        }
        guard let fallback else {
            throw bad(at: "/alert/default", "it is missing: the locale of devices that match none")
        }
        guard json.kind(fallback).isString else {
            throw bad(at: "/alert/default", "it is \(json.kind(fallback).name), not a string")
        }
        guard let locales, json.kind(locales) == .object, json.size(locales) > 0 else {
            throw bad(at: "/alert/locales", "it is not an object with a text or an object for each locale")
        }
        guard json.size(locales) <= Wording.maxForms else {
            throw Rejection(
                .tooMany, detail: "/alert/locales: there are \(json.size(locales)); \(Wording.maxForms) are allowed")
        }
        return (locales, fallback)
    }

    private func words(named key: IndexedJSON.Position, by rules: PlainRules) throws(Rejection) -> Words {
        let name = json.string(key) ?? ""
        let pointer = "/alert/locales/\(shown(name))"
        guard let locale = LocaleTag(name) else { throw bad(at: pointer, "it is no locale, such as en or de-CH") }
        let alert = key + 1
        switch json.kind(alert) {
        case .string, .escapedString: break
        case .object: try checkMembers(ofAlert: alert, by: rules, at: pointer)
        default: throw bad(at: pointer, "it is \(json.kind(alert).name), not a string or an object")
        }
        return Words(locale: locale, alert: alert, pointer: pointer)
    }

    func shown(_ name: String) -> String { JSONPointer.escaped(PlainText.name(name)) }

    private func bad(at pointer: String, _ problem: String) -> Rejection {
        Rejection(.badField, detail: "\(pointer): \(problem)")
    }
}
