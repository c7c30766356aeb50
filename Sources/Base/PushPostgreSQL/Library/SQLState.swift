/// The five characters that classify an error or a notice of the server (PostgreSQL manual, appendix A).
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let warning = SQLState(rawValue: "01000")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    package static let checkViolation = SQLState(rawValue: "23514")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let unknownStatement = SQLState(rawValue: "26000")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let duplicateSchema = SQLState(rawValue: "42P06")
    package static let unknownTable = SQLState(rawValue: "42P01")
    package static let adminShutdown = SQLState(rawValue: "57P01")

    package var description: String { rawValue }
}
