import ActiveObject
import FoundationEssentials
import TestSupport

/// A criterion together with its meaning in Swift.
struct RandomCriteria {
    let criteria: Criteria<Sample>
    let holds: (Sample) -> Bool
    let text: String

    static func tree(depth: Int, using random: inout SeededRandom) -> RandomCriteria {
        switch depth == 0 ? 3 : Int.random(in: 0..<5, using: &random) {
        case 0:
            let (one, other) = (tree(depth: depth - 1, using: &random), tree(depth: depth - 1, using: &random))
            return RandomCriteria(
                criteria: one.criteria && other.criteria, holds: { one.holds($0) && other.holds($0) },
                text: "(\(one.text) && \(other.text))")
        case 1:
            let (one, other) = (tree(depth: depth - 1, using: &random), tree(depth: depth - 1, using: &random))
            return RandomCriteria(
                criteria: one.criteria || other.criteria, holds: { one.holds($0) || other.holds($0) },
                text: "(\(one.text) || \(other.text))")
        case 2:
            let one = tree(depth: depth - 1, using: &random)
            return RandomCriteria(criteria: !one.criteria, holds: { !one.holds($0) }, text: "!\(one.text)")
        default: return leaf(&random)
        }
    }

    private init(criteria: Criteria<Sample>, holds: @escaping (Sample) -> Bool, text: String) {
        self.criteria = criteria
        self.holds = holds
        self.text = text
    }

    private init(_ text: String, criteria: Criteria<Sample>, holds: @escaping (Sample) -> Bool) {
        self.init(criteria: criteria, holds: holds, text: text)
    }

    private static func leaf(_ random: inout SeededRandom) -> RandomCriteria {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: ordered("name", at: \.name, value: Sample.texts.randomElement(using: &random) ?? "", using: &random)
        case 1: ordered("age", at: \.age, value: Int.random(in: -3...3, using: &random), using: &random)
        case 2: ordered("score", at: \.score, value: Sample.scores.randomElement(using: &random) ?? 0, using: &random)
        case 3:
            ordered(
                "level", at: \.level, value: Sample.Level.allCases.randomElement(using: &random) ?? .low, using: &random
            )
        case 4: ordered("born", at: \.born, value: Sample.dates.randomElement(using: &random) ?? Date(), using: &random)
        case 5:
            orderedOptional("nick", at: \.nick, value: Sample.texts.randomElement(using: &random) ?? "", using: &random)
        case 6: orderedOptional("rank", at: \.rank, value: Int8.random(in: -2...2, using: &random), using: &random)
        case 7:
            orderedOptional(
                "ratio", at: \.ratio, value: [0.1, 0.5, -2].randomElement(using: &random) ?? 0, using: &random)
        case 8:
            orderedOptional(
                "died", at: \.died, value: Sample.dates.randomElement(using: &random) ?? Date(), using: &random)
        case 9: whole(&random)
        case 10: texts("name", at: \.name, get: { $0.name }, using: &random)
        default: optionalTexts(&random)
        }
    }

    private static func whole(_ random: inout SeededRandom) -> RandomCriteria {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return equal("isOn", at: \.isOn, value: Bool.random(using: &random), using: &random)
        case 1:
            return equal(
                "sex", at: \.sex, value: ([.female, .male, nil] as [Sample.Sex?]).randomElement(using: &random) ?? nil,
                using: &random)
        case 2:
            return equal(
                "token", at: \.token, value: Sample.tokens.randomElement(using: &random) ?? UUID(), using: &random)
        case 3: return equal("bytes", at: \.bytes, value: Sample.blobs.randomElement(using: &random), using: &random)
        case 4: return equal("point", at: \.point, value: Sample.points.randomElement(using: &random), using: &random)
        case 5: return RandomCriteria("all", criteria: .all) { _ in true }
        default: return RandomCriteria("nothing", criteria: .nothing) { _ in false }
        }
    }

    private static func equal<Value: Equatable & Sendable>(
        _ name: String, at path: KeyPath<Sample, Value>, value: Value, using random: inout SeededRandom
    ) -> RandomCriteria {
        Bool.random(using: &random)
            ? RandomCriteria("\(name) == \(value)", criteria: path == value) { $0[keyPath: path] == value }
            : RandomCriteria("\(name) != \(value)", criteria: path != value) { $0[keyPath: path] != value }
    }

    private static func ordered<Value: Comparable & Sendable>(
        _ name: String, at path: KeyPath<Sample, Value>, value: Value, using random: inout SeededRandom
    ) -> RandomCriteria {
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return RandomCriteria("\(name) < \(value)", criteria: path < value) { $0[keyPath: path] < value }
        case 1: return RandomCriteria("\(name) <= \(value)", criteria: path <= value) { $0[keyPath: path] <= value }
        case 2: return RandomCriteria("\(name) > \(value)", criteria: path > value) { $0[keyPath: path] > value }
        case 3: return RandomCriteria("\(name) >= \(value)", criteria: path >= value) { $0[keyPath: path] >= value }
        case 4:
            return RandomCriteria("\(name) in \(value)...", criteria: path ~= value...) {
                (value...).contains($0[keyPath: path])
            }
        case 5:
            return RandomCriteria("\(name) in ..<\(value)", criteria: path ~= ..<value) { $0[keyPath: path] < value }
        case 6:
            return RandomCriteria("\(name) in ...\(value)", criteria: path.between(...value)) {
                $0[keyPath: path] <= value
            }
        case 7: return RandomCriteria("\(name) in ..<", criteria: .between(path, range: value..<value)) { _ in false }
        case 8: return RandomCriteria("\(name) in one", criteria: path ~= value...value) { $0[keyPath: path] == value }
        case 9:
            let values = Bool.random(using: &random) ? [value] : []
            return RandomCriteria("\(name) isIn \(values)", criteria: path.isIn(values)) {
                values.contains($0[keyPath: path])
            }
        default: return equal(name, at: path, value: value, using: &random)
        }
    }

    private static func orderedOptional<Value: Comparable & Sendable>(
        _ name: String, at path: KeyPath<Sample, Value?>, value: Value, using random: inout SeededRandom
    ) -> RandomCriteria {
        func with(_ text: String, criteria: Criteria<Sample>, holds: @escaping (Value) -> Bool) -> RandomCriteria {
            RandomCriteria("\(name) \(text) \(value)", criteria: criteria) { $0[keyPath: path].map(holds) ?? false }
        }
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return with("<", criteria: path < value) { $0 < value }
        case 1: return with("<=", criteria: path <= value) { $0 <= value }
        case 2: return with(">", criteria: path > value) { $0 > value }
        case 3: return with(">=", criteria: path >= value) { $0 >= value }
        case 4: return with("...", criteria: path ~= value...) { $0 >= value }
        case 5: return with("..<", criteria: path.between(..<value)) { $0 < value }
        case 6: return RandomCriteria("\(name) nil", criteria: path.isNil()) { $0[keyPath: path] == nil }
        case 7: return RandomCriteria("\(name) not nil", criteria: .isNotNil(path)) { $0[keyPath: path] != nil }
        case 8:
            let values: [Value?] = Bool.random(using: &random) ? [value, nil] : [value]
            return RandomCriteria("\(name) isIn \(values)", criteria: .isIn(path, values: values)) {
                values.contains($0[keyPath: path])
            }
        case 9: return equal(name, at: path, value: nil, using: &random)
        default: return equal(name, at: path, value: value, using: &random)
        }
    }

    private static func texts(
        _ name: String, at path: KeyPath<Sample, String>, get: @escaping (Sample) -> String?,
        using random: inout SeededRandom
    ) -> RandomCriteria {
        let text = Sample.texts.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return RandomCriteria("\(name) hasPrefix \(text.debugDescription)", criteria: path.hasPrefix(text)) {
                begins(get($0), with: text)
            }
        case 1:
            return RandomCriteria("\(name) contains \(text.debugDescription)", criteria: path.contains(text)) {
                has(get($0), part: text)
            }
        default:
            return RandomCriteria("\(name) like \(text.debugDescription)%", criteria: path.like(text + "%")) {
                like(get($0), pattern: text + "%")
            }
        }
    }

    private static func optionalTexts(_ random: inout SeededRandom) -> RandomCriteria {
        let text = Sample.texts.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return RandomCriteria("nick hasPrefix \(text.debugDescription)", criteria: .hasPrefix(\.nick, prefix: text))
            {
                begins($0.nick, with: text)
            }
        case 1:
            return RandomCriteria("nick contains \(text.debugDescription)", criteria: .contains(\.nick, text: text)) {
                has($0.nick, part: text)
            }
        default:
            return RandomCriteria("nick like _\(text.debugDescription)", criteria: .like(\.nick, pattern: "_" + text)) {
                like($0.nick, pattern: "_" + text)
            }
        }
    }
}

private func begins(_ text: String?, with prefix: String) -> Bool {
    text.map { $0.utf8.starts(with: prefix.utf8) } ?? false
}

private func has(_ text: String?, part: String) -> Bool {
    guard let text = text.map({ Array($0.utf8) }) else { return false }
    let part = Array(part.utf8)
    return part.isEmpty || text.indices.contains { text[$0...].starts(with: part) }
}

/// LIKE according to SQLite's documentation, written independently of the code under test. Both stop at a NUL.
private func like(_ text: String?, pattern: String) -> Bool {
    func matches(_ text: ArraySlice<Unicode.Scalar>, pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "%" {
            return matches(text, pattern: pattern.dropFirst())
                || (!text.isEmpty && matches(text.dropFirst(), pattern: pattern))
        }
        guard let next = text.first else { return false }
        func folded(_ scalar: Unicode.Scalar) -> UInt32 {
            ("A"..."Z").contains(scalar) ? scalar.value + 32 : scalar.value
        }
        return (first == "_" || folded(first) == folded(next))
            && matches(text.dropFirst(), pattern: pattern.dropFirst())
    }
    func scalars(_ text: String) -> ArraySlice<Unicode.Scalar> { Array(text.unicodeScalars.prefix { $0 != "\0" })[...] }
    return text.map { matches(scalars($0), pattern: scalars(pattern)) } ?? false
}
