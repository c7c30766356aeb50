/// The result of one statement: its rows, and the number of rows that it wrote.
///
/// It is immutable, and may be released on any thread.
package final class PostgreSQLResult: @unchecked Sendable {
    // Unchecked: libpq writes a result only while it receives it.
    private let handle: ResultHandle
    package let rowCount: Int
    package let columnCount: Int

    init(_ handle: consuming ResultHandle) {
        self.handle = handle
        rowCount = self.handle.rowCount
        columnCount = self.handle.columnCount
    }

    /// The number of rows that the statement wrote or returned.
    package var affectedRows: Int { handle.affectedRows }

    /// The rows in the server's order.
    package var rows: some Sequence<PostgreSQLRow> {
        (0..<rowCount).lazy.map { PostgreSQLRow(result: self, index: $0) }
    }

    /// Returns a row.
    package func row(_ index: Int = 0) throws(PostgreSQLValueError) -> PostgreSQLRow {
        guard (0..<rowCount).contains(index) else {
            throw PostgreSQLValueError(message: "the result has \(rowCount) rows; there is no row \(index)")
        }
        return PostgreSQLRow(result: self, index: index)
    }

    func type(ofColumn column: Int) -> PostgreSQLType {
        PostgreSQLType(rawValue: handle.type(ofColumn: column))
    }

    func name(ofColumn column: Int) -> String { handle.name(ofColumn: column) }

    /// Calls `body` with the bytes of a value; with nil if it is null. The row and the column must exist.
    func withValue<Result, Failure: Error>(
        row: Int, column: Int, _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(handle.value(row: row, column: column))
    }
}
