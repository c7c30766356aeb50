import JSON5
import PushText

/// An error in a script or in a request to the control port: the problem, its location, and the correction.
package struct ScriptError: Error, Equatable, CustomStringConvertible {
    package let line: Int?
    package let path: String
    package let problem: String

    package var description: String {
        let location = [path.isEmpty ? nil : path, line.map { "line \($0)" }].compactMap { $0 }.joined(separator: ", ")
        return location.isEmpty ? problem : "\(location): \(problem)"
    }
}

/// An object of a script, read key by key. An unknown key is an error, which suggests the most similar known key.
struct ScriptObject {
    private let members: [JSONTree.Member]
    private let path: String
    private let line: Int?

    init(_ tree: JSONTree, at path: String, line: Int? = nil, keys: [String]) throws(ScriptError) {
        guard let members = tree.members else {
            throw ScriptError(line: line, path: path, problem: "this must be an object, not \(tree.kind)")
        }
        self.members = members
        self.path = path
        self.line = line
        for (index, member) in members.enumerated() {
            if !keys.contains(member.key) {
                let nearest = NearestWord.to(member.key, in: keys)
                let hint = nearest.map { "did you mean \"\($0)\"?" } ?? "known keys: \(keys.joined(separator: ", "))"
                throw ScriptError(
                    line: member.line, path: path, problem: "unknown key \"\(member.key)\"; \(hint)")
            }
            if members[..<index].contains(where: { $0.key == member.key }) {
                throw ScriptError(line: member.line, path: path, problem: "the key \"\(member.key)\" occurs twice")
            }
        }
    }

    func has(_ key: String) -> Bool { members.contains { $0.key == key } }

    private func member(_ key: String) -> JSONTree.Member? { members.first { $0.key == key } }

    func value(_ key: String) -> JSONTree? { member(key)?.value }

    func line(of key: String) -> Int? { member(key)?.line ?? line }

    func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func error(_ problem: String, at key: String) -> ScriptError {
        ScriptError(line: line(of: key), path: path(of: key), problem: problem)
    }

    func error(_ problem: String) -> ScriptError { ScriptError(line: line, path: path, problem: problem) }

    func string(_ key: String) throws(ScriptError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.string else { throw error("this must be a string, not \(value.kind)", at: key) }
        return text
    }

    func boolean(_ key: String) throws(ScriptError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard let flag = value.boolean else { throw error("this must be true or false, not \(value.kind)", at: key) }
        return flag
    }

    func integer(_ key: String, in range: ClosedRange<Int64>) throws(ScriptError) -> Int64? {
        guard let value = value(key) else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw error("this must be a whole number from \(range.lowerBound) to \(range.upperBound)", at: key)
        }
        return number
    }

    func share(_ key: String) throws(ScriptError) -> Double? {
        guard let value = value(key) else { return nil }
        guard let number = value.number, (0...1).contains(number) else {
            throw error("this must be a share from 0 to 1, such as 0.01 for one in a hundred", at: key)
        }
        return number
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of type: Choice.Type
    ) throws(ScriptError) -> Choice? where Choice.RawValue == String {
        guard let text = try string(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw error("\"\(text)\" is not one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))", at: key)
        }
        return choice
    }

    /// Returns a duration such as `"250ms"`, `"5s"` or `"2m"` in nanoseconds.
    func duration(_ key: String) throws(ScriptError) -> Int64? {
        guard let text = try string(key) else { return nil }
        let units: [(String, Double)] = [("ms", 1e6), ("us", 1e3), ("s", 1e9), ("m", 60e9), ("h", 3600e9)]
        for (unit, scale) in units where text.hasSuffix(unit) {
            if let number = Double(text.dropLast(unit.utf8.count)), number >= 0, number * scale < 1e18 {
                return Int64(number * scale)
            }
            break
        }
        throw error("\"\(text)\" is not a duration; write \"250ms\", \"5s\" or \"2m\"", at: key)
    }
}
