import ActiveObject
import FoundationEssentials
import TestSupport

/// A criterion together with its meaning in Swift.
struct RandomCriteria {
    let criteria: Criteria<Sample>
    let holds: (Sample) -> Bool
    let text: String

    static func tree(depth: Int, _ random: inout SeededRandom) -> RandomCriteria {
        switch depth == 0 ? 3 : Int.random(in: 0..<5, using: &random) {
        case 0:
            let (one, other) = (tree(depth: depth - 1, &random), tree(depth: depth - 1, &random))
            return RandomCriteria(
                criteria: one.criteria && other.criteria, holds: { one.holds($0) && other.holds($0) },
                text: "(\(one.text) && \(other.text))")
        case 1:
            let (one, other) = (tree(depth: depth - 1, &random), tree(depth: depth - 1, &random))
            return RandomCriteria(
                criteria: one.criteria || other.criteria, holds: { one.holds($0) || other.holds($0) },
                text: "(\(one.text) || \(other.text))")
        case 2:
            let one = tree(depth: depth - 1, &random)
            return RandomCriteria(criteria: !one.criteria, holds: { !one.holds($0) }, text: "!\(one.text)")
        default: return leaf(&random)
        }
    }

    private init(criteria: Criteria<Sample>, holds: @escaping (Sample) -> Bool, text: String) {
        self.criteria = criteria
        self.holds = holds
        self.text = text
    }

    private init(_ text: String, _ criteria: Criteria<Sample>, _ holds: @escaping (Sample) -> Bool) {
        self.init(criteria: criteria, holds: holds, text: text)
    }

    private static func leaf(_ random: inout SeededRandom) -> RandomCriteria {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: ordered("name", \.name, Sample.texts.randomElement(using: &random) ?? "", &random)
        case 1: ordered("age", \.age, Int.random(in: -3...3, using: &random), &random)
        case 2: ordered("score", \.score, Sample.scores.randomElement(using: &random) ?? 0, &random)
        case 3: ordered("level", \.level, Sample.Level.allCases.randomElement(using: &random) ?? .low, &random)
        case 4: ordered("born", \.born, Sample.dates.randomElement(using: &random) ?? Date(), &random)
        case 5: orderedOptional("nick", \.nick, Sample.texts.randomElement(using: &random) ?? "", &random)
        case 6: orderedOptional("rank", \.rank, Int8.random(in: -2...2, using: &random), &random)
        case 7: orderedOptional("ratio", \.ratio, [0.1, 0.5, -2].randomElement(using: &random) ?? 0, &random)
        case 8: orderedOptional("died", \.died, Sample.dates.randomElement(using: &random) ?? Date(), &random)
        case 9: whole(&random)
        case 10: texts("name", \.name, { $0.name }, &random)
        default: optionalTexts(&random)
        }
    }

    private static func whole(_ random: inout SeededRandom) -> RandomCriteria {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return equal("isOn", \.isOn, Bool.random(using: &random), &random)
        case 1:
            return equal(
                "sex", \.sex, ([.female, .male, nil] as [Sample.Sex?]).randomElement(using: &random) ?? nil, &random)
        case 2: return equal("token", \.token, Sample.tokens.randomElement(using: &random) ?? UUID(), &random)
        case 3: return equal("bytes", \.bytes, Sample.blobs.randomElement(using: &random), &random)
        case 4: return equal("point", \.point, Sample.points.randomElement(using: &random), &random)
        case 5: return RandomCriteria("all", .all) { _ in true }
        default: return RandomCriteria("nothing", .nothing) { _ in false }
        }
    }

    private static func equal<Value: Equatable & Sendable>(
        _ name: String, _ path: KeyPath<Sample, Value>, _ value: Value, _ random: inout SeededRandom
    ) -> RandomCriteria {
        Bool.random(using: &random)
            ? RandomCriteria("\(name) == \(value)", path == value) { $0[keyPath: path] == value }
            : RandomCriteria("\(name) != \(value)", path != value) { $0[keyPath: path] != value }
    }

    private static func ordered<Value: Comparable & Sendable>(
        _ name: String, _ path: KeyPath<Sample, Value>, _ value: Value, _ random: inout SeededRandom
    ) -> RandomCriteria {
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return RandomCriteria("\(name) < \(value)", path < value) { $0[keyPath: path] < value }
        case 1: return RandomCriteria("\(name) <= \(value)", path <= value) { $0[keyPath: path] <= value }
        case 2: return RandomCriteria("\(name) > \(value)", path > value) { $0[keyPath: path] > value }
        case 3: return RandomCriteria("\(name) >= \(value)", path >= value) { $0[keyPath: path] >= value }
        case 4:
            return RandomCriteria("\(name) in \(value)...", path ~= value...) { (value...).contains($0[keyPath: path]) }
        case 5: return RandomCriteria("\(name) in ..<\(value)", path ~= ..<value) { $0[keyPath: path] < value }
        case 6: return RandomCriteria("\(name) in ...\(value)", path.between(...value)) { $0[keyPath: path] <= value }
        case 7: return RandomCriteria("\(name) in ..<", .between(path, range: value..<value)) { _ in false }
        case 8: return RandomCriteria("\(name) in one", path ~= value...value) { $0[keyPath: path] == value }
        case 9:
            let values = Bool.random(using: &random) ? [value] : []
            return RandomCriteria("\(name) isIn \(values)", path.isIn(values)) { values.contains($0[keyPath: path]) }
        default: return equal(name, path, value, &random)
        }
    }

    private static func orderedOptional<Value: Comparable & Sendable>(
        _ name: String, _ path: KeyPath<Sample, Value?>, _ value: Value, _ random: inout SeededRandom
    ) -> RandomCriteria {
        func with(_ text: String, _ criteria: Criteria<Sample>, _ holds: @escaping (Value) -> Bool) -> RandomCriteria {
            RandomCriteria("\(name) \(text) \(value)", criteria) { $0[keyPath: path].map(holds) ?? false }
        }
        switch Int.random(in: 0..<11, using: &random) {
        case 0: return with("<", path < value) { $0 < value }
        case 1: return with("<=", path <= value) { $0 <= value }
        case 2: return with(">", path > value) { $0 > value }
        case 3: return with(">=", path >= value) { $0 >= value }
        case 4: return with("...", path ~= value...) { $0 >= value }
        case 5: return with("..<", path.between(..<value)) { $0 < value }
        case 6: return RandomCriteria("\(name) nil", path.isNil()) { $0[keyPath: path] == nil }
        case 7: return RandomCriteria("\(name) not nil", .isNotNil(path)) { $0[keyPath: path] != nil }
        case 8:
            let values: [Value?] = Bool.random(using: &random) ? [value, nil] : [value]
            return RandomCriteria("\(name) isIn \(values)", .isIn(path, values: values)) {
                values.contains($0[keyPath: path])
            }
        case 9: return equal(name, path, nil, &random)
        default: return equal(name, path, value, &random)
        }
    }

    private static func texts(
        _ name: String, _ path: KeyPath<Sample, String>, _ get: @escaping (Sample) -> String?,
        _ random: inout SeededRandom
    ) -> RandomCriteria {
        let text = Sample.texts.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return RandomCriteria("\(name) hasPrefix \(text.debugDescription)", path.hasPrefix(text)) {
                begins(get($0), text)
            }
        case 1:
            return RandomCriteria("\(name) contains \(text.debugDescription)", path.contains(text)) {
                has(get($0), text)
            }
        default:
            return RandomCriteria("\(name) like \(text.debugDescription)%", path.like(text + "%")) {
                like(get($0), text + "%")
            }
        }
    }

    private static func optionalTexts(_ random: inout SeededRandom) -> RandomCriteria {
        let text = Sample.texts.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            return RandomCriteria("nick hasPrefix \(text.debugDescription)", .hasPrefix(\.nick, prefix: text)) {
                begins($0.nick, text)
            }
        case 1:
            return RandomCriteria("nick contains \(text.debugDescription)", .contains(\.nick, text: text)) {
                has($0.nick, text)
            }
        default:
            return RandomCriteria("nick like _\(text.debugDescription)", .like(\.nick, pattern: "_" + text)) {
                like($0.nick, "_" + text)
            }
        }
    }
}

private func begins(_ text: String?, _ prefix: String) -> Bool {
    text.map { $0.utf8.starts(with: prefix.utf8) } ?? false
}

private func has(_ text: String?, _ part: String) -> Bool {
    guard let text = text.map({ Array($0.utf8) }) else { return false }
    let part = Array(part.utf8)
    return part.isEmpty || text.indices.contains { text[$0...].starts(with: part) }
}

/// LIKE according to SQLite's documentation, written independently of the code under test. Both stop at a NUL.
private func like(_ text: String?, _ pattern: String) -> Bool {
    func match(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "%" {
            return match(text, pattern.dropFirst()) || (!text.isEmpty && match(text.dropFirst(), pattern))
        }
        guard let next = text.first else { return false }
        func folded(_ scalar: Unicode.Scalar) -> UInt32 {
            ("A"..."Z").contains(scalar) ? scalar.value + 32 : scalar.value
        }
        return (first == "_" || folded(first) == folded(next)) && match(text.dropFirst(), pattern.dropFirst())
    }
    func scalars(_ text: String) -> ArraySlice<Unicode.Scalar> { Array(text.unicodeScalars.prefix { $0 != "\0" })[...] }
    return text.map { match(scalars($0), scalars(pattern)) } ?? false
}
