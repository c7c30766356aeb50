import FoundationEssentials
import PushWire

/// The tables and examples of `Documentation/Protocol.md`.
struct ProtocolPage {
    struct Table {
        let header: [String]
        let rows: [[String]]

        /// The words of the first column.
        var words: [String] { rows.map { $0[0] } }
    }

    struct Member: Equatable {
        let name: String
        let types: [String]
        let isAlways: Bool
    }

    /// The description of one kind of event.
    struct Kind {
        let name: String
        let members: [Member]
        let examples: [JSONValue]
    }

    private struct Section {
        let title: String
        var lines: [Substring] = []
    }

    let text: String
    private var sections = [Section(title: "")]

    init() throws {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        let file = "/" + path.joined(separator: "/") + "/Documentation/Protocol.md"
        text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        var isFenced = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isFenced.toggle() }
            if !isFenced, line.hasPrefix("#") {
                sections.append(Section(title: String(line.drop { $0 == "#" }.dropFirst())))
            } else {
                sections[sections.count - 1].lines.append(line)
            }
        }
    }

    // MARK: Tables

    /// Returns the only table whose first column has this header.
    func table(headed header: String) throws -> Table {
        try one(of: sections.flatMap { Self.tables(in: $0.lines) }.filter { $0.header.first == header }, header)
    }

    /// Returns the only table of a section.
    func table(under title: String) throws -> Table {
        try one(of: sections.filter { $0.title == title }.flatMap { Self.tables(in: $0.lines) }, title)
    }

    /// Returns the only table of a section whose first column has this header.
    func table(under title: String, headed header: String) throws -> Table {
        let tables = sections.filter { $0.title == title }.flatMap { Self.tables(in: $0.lines) }
        return try one(of: tables.filter { $0.header.first == header }, "\(title): \(header)")
    }

    private func one(of tables: [Table], _ name: String) throws -> Table {
        guard tables.count == 1 else { throw PageFault("there are \(tables.count) tables of '\(name)'") }
        return tables[0]
    }

    private static func tables(in lines: [Substring]) -> [Table] {
        var tables: [Table] = []
        var rows: [[String]] = []
        for line in lines + [""] {
            if line.hasPrefix("|") {
                rows.append(
                    line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                        .map { plain($0.trimmingSpaces) })
            } else if !rows.isEmpty {
                tables.append(Table(header: rows[0], rows: Array(rows.dropFirst(2))))
                rows = []
            }
        }
        return tables
    }

    /// Returns the content of a cell, which may be one word in backticks.
    private static func plain(_ cell: String) -> String {
        let inner = cell.dropFirst().dropLast()
        return cell.hasPrefix("`") && cell.hasSuffix("`") && !inner.contains("`") ? String(inner) : cell
    }

    // MARK: Events

    /// The described kinds of events, in order.
    func kinds() throws -> [Kind] {
        try sections.filter { $0.title.contains(".") && !$0.title.contains(" ") }.map { section in
            guard let table = Self.tables(in: section.lines).first(where: { $0.header.first == "member" }) else {
                throw PageFault("\(section.title) has no table of members")
            }
            let members = table.rows.map {
                Member(
                    name: $0[0], types: $0[1].split(separator: ",").map { String($0).trimmingSpaces },
                    isAlways: $0[2] == "always")
            }
            return Kind(name: section.title, members: members, examples: try Self.blocks("event", in: section.lines))
        }
    }

    /// Returns the JSON of all fenced blocks of a kind.
    func blocks(_ kind: String) throws -> [JSONValue] { try sections.flatMap { try Self.blocks(kind, in: $0.lines) } }

    private static func blocks(_ kind: String, in lines: [Substring]) throws -> [JSONValue] {
        var blocks: [JSONValue] = []
        var block: [Substring]?
        for line in lines {
            if line == "```\(kind)" {
                block = []
            } else if line == "```", let text = block {
                blocks.append(try JSONValue(parsing: text.joined(separator: "\n")))
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }
}

struct PageFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension JSONValue {
    init(parsing text: String) throws {
        let document = try JSONDocument(Array(text.utf8))
        self = document.value(at: document.root)
    }

    var object: [String: JSONValue] {
        if case .object(let members) = self { members } else { [:] }
    }

    var string: String {
        if case .string(let text) = self { text } else { "" }
    }

    /// The name of the type in the page.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string: "string"
        case .array: "array of strings"
        case .object: "object"
        }
    }
}

extension StringProtocol {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
