import CPostgreSQL

/// The fields of an error or notice of libpq, which someone else owns.
@unsafe
struct ResultFields {
    let library: LibPQ
    let pointer: OpaquePointer

    /// Returns a field; nil if the server did not send it.
    func text(_ code: Int) -> String? {
        unsafe library.functions.PQresultErrorField(pointer, CInt(truncatingIfNeeded: code)).map {
            unsafe String(cString: $0)
        }
    }

    /// The primary message in one line.
    var message: String {
        let text = unsafe library.functions.PQresultErrorMessage(pointer).map { unsafe String(cString: $0) }
        return unsafe self.text(CPOSTGRESQL_MESSAGE) ?? text?.singleLine ?? ""
    }

    /// The error of the server; nil if libpq itself made the error.
    var failure: PostgreSQLFailure? {
        guard let state = unsafe text(CPOSTGRESQL_SQLSTATE) else { return nil }
        let severity = unsafe text(CPOSTGRESQL_SEVERITY)
        return unsafe PostgreSQLFailure(
            sqlState: SQLState(rawValue: state), isFatal: severity == "FATAL" || severity == "PANIC", message: message,
            constraint: text(CPOSTGRESQL_CONSTRAINT))
    }

    var notice: PostgreSQLNotice {
        unsafe PostgreSQLNotice(
            severity: text(CPOSTGRESQL_SEVERITY) ?? "NOTICE",
            sqlState: SQLState(rawValue: text(CPOSTGRESQL_SQLSTATE) ?? "00000"), message: message,
            function: text(CPOSTGRESQL_FUNCTION))
    }
}

extension String {
    /// The text in one line; libpq ends its messages with line breaks.
    var singleLine: String {
        split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
