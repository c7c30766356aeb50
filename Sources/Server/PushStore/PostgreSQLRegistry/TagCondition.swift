import PushModel
import PushPostgreSQL

/// The way to decide which devices match a tag expression: a condition of the database if the expression has few tags,
/// else a test of the tags that were read. The database would search the tags of each device once for each tag of the
/// expression.
struct TagCondition: Sendable {
    /// The largest number of tags in a condition.
    private static let maxTags = 8

    private let sql: String
    private let tags: [String]
    private let test: TagTest?
    private let wording: Wording?

    /// - Parameters:
    ///   - firstParameter: The number of the first parameter for a tag.
    ///   - wording: The forms of the message, if the locales of the devices are to be read.
    init(_ expression: TagExpression, firstParameter: Int, wording: Wording? = nil) {
        self.wording = wording
        var tags: [String] = []
        let condition = expression.condition(&tags, firstParameter: firstParameter)
        if tags.count <= Self.maxTags {
            (sql, self.tags, test) = (condition, tags, nil)
        } else {
            (sql, self.tags, test) = ("true", [], TagTest(expression))
        }
    }

    /// Whether the database returns the devices that do not match, too.
    var isTestedHere: Bool { test != nil }

    /// The number of devices that one statement examines.
    var rowsAtOnce: Int { isTestedHere ? 1000 : .max }

    private var tagColumn: String { isTestedHere ? "d.tags" : "NULL::bytea[]" }
    private var localeColumn: String { wording == nil ? "NULL::bytea" : "d.locale" }
    private var types: [PostgreSQLType] { tags.map { _ in .bytea } }

    /// Examines the next devices of an app. The last of as many as it may examine is in the result even if it does not
    /// match, so that the next statement can continue behind it.
    var examination: PostgreSQLStatement {
        .once(
            sql: """
                SELECT id, token, matches, tags, place = $5, locale FROM (
                    SELECT d.id, d.token, \(sql) AS matches, \(tagColumn) AS tags, \(localeColumn) AS locale,
                        row_number() OVER (ORDER BY d.id) AS place
                    FROM carillon.devices d
                    WHERE d.app = $1 AND d.kind = $4 AND d.id > $2 AND d.deactivated IS NULL
                    ORDER BY d.id LIMIT $5) AS examined
                WHERE matches OR place = $5 ORDER BY id LIMIT $3
                """,
            parameters: [.text, .bytea, .int8, .int4, .int8] + types)
    }

    /// Selects among devices by their ids.
    var selection: PostgreSQLStatement {
        .once(
            sql: """
                SELECT d.id, d.token, true, \(tagColumn), false, \(localeColumn) FROM carillon.devices d
                WHERE d.id = ANY($1) AND d.kind = $2 AND d.deactivated IS NULL AND \(sql) ORDER BY d.id
                """,
            parameters: [.byteaArray, .int4] + types)
    }

    func append(to parameters: inout PostgreSQLParameters) {
        for tag in tags { parameters.append(bytea: Array(tag.utf8)) }
    }

    /// Returns the device of a row if it matches and has a token.
    func device(in row: PostgreSQLRow) throws -> AudiencePage.Device? {
        guard try row.value(2, as: Bool.self) else { return nil }
        if let test {
            var tags: [String] = []
            unsafe try row.forEachBytes(3) { unsafe tags.append(String(decoding: $0, as: UTF8.self)) }
            guard test.matches(tags) else { return nil }
        }
        return try row.addressed(id: 0, token: 1, locale: 5, in: wording)
    }
}
