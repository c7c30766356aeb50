import CSQLite
import Glibc

/// The error of a call into SQLite. Each record layer maps it to an error of its own.
public struct SQLiteFailure: Error, Hashable, Sendable {
    /// The extended result code.
    public let code: ResultCode
    /// The error number of the operating system that SQLite recorded; 0 if there is none. SQLite does not record it on
    /// every path.
    public let systemError: Int32
    /// The value of `errno` after the call. It is meaningful only if the call failed in the operating system.
    public let threadError: Int32
    /// SQLite's text in English.
    public let message: String

    /// The result code without its details.
    public var primary: ResultCode { code.primary }

    package init(_ code: ResultCode, systemError: Int32 = 0, threadError: Int32 = 0, message: String) {
        self.code = code
        self.systemError = systemError
        self.threadError = threadError
        self.message = message
    }

    /// Creates the error for a code that a call with this connection returned just now.
    ///
    /// - Parameter database: The connection; nil if SQLite could not allocate it.
    @unsafe
    init(_ code: Int32, on database: OpaquePointer?) {
        // The calls below may change it.
        threadError = errno
        self.code = ResultCode(rawValue: code)
        systemError = unsafe database.map { unsafe sqlite3_system_errno($0) } ?? 0
        let text = unsafe database.map { unsafe sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        message = unsafe text.map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}
