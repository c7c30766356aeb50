import CPostgreSQL

/// A result of libpq. Its lifetime ends the result.
@safe
struct ResultHandle: ~Copyable {
    let library: LibPQ
    let pointer: OpaquePointer

    @unsafe
    init(_ pointer: OpaquePointer, of library: LibPQ) {
        self.library = library
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe library.functions.PQclear(pointer)
    }

    var status: ExecStatusType { unsafe library.functions.PQresultStatus(pointer) }
    var fields: ResultFields { unsafe ResultFields(library: library, pointer: pointer) }
    var rowCount: Int { Int(unsafe library.functions.PQntuples(pointer)) }
    var columnCount: Int { Int(unsafe library.functions.PQnfields(pointer)) }

    /// The number of rows that the statement wrote, as the server sent it.
    var affectedRows: Int {
        unsafe library.functions.PQcmdTuples(pointer).flatMap { Int(unsafe String(cString: $0)) } ?? 0
    }

    /// The indices must be those of an existing row and column.
    func type(ofColumn column: Int) -> UInt32 {
        unsafe library.functions.PQftype(pointer, CInt(truncatingIfNeeded: column))
    }

    func name(ofColumn column: Int) -> String {
        unsafe library.functions.PQfname(pointer, CInt(truncatingIfNeeded: column)).map { unsafe String(cString: $0) }
            ?? ""
    }

    /// Returns the bytes of a value; nil if it is null. They live as long as the result.
    @unsafe
    func value(row: Int, column: Int) -> UnsafeRawBufferPointer? {
        let (row, column) = (CInt(truncatingIfNeeded: row), CInt(truncatingIfNeeded: column))
        guard unsafe library.functions.PQgetisnull(pointer, row, column) == 0 else { return nil }
        let count = Int(unsafe library.functions.PQgetlength(pointer, row, column))
        return unsafe UnsafeRawBufferPointer(
            start: library.functions.PQgetvalue(pointer, row, column), count: max(0, count))
    }
}
