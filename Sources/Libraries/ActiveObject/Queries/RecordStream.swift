extension Query {
    /// Returns a sequence of the records that reads them page by page. Only one page is in memory at a time.
    ///
    /// ```swift
    /// for try await person in Person.where(\.active == true).stream() { … }
    /// ```
    ///
    /// Each page sees the file as it is when the page is read, and no transaction is open between pages, so a slow loop
    /// blocks no other caller. To read one state of the file throughout, use ``forEach(in:body:)``. A limit of the
    /// query applies; an offset is an error.
    ///
    /// - Parameters:
    ///   - pageSize: The number of records that are read at a time.
    ///   - database: The database; by default the one that the type names.
    public func stream(pageSize: Int = 500, in database: Database? = nil) -> RecordStream<Record> {
        RecordStream(query: self, pageSize: pageSize, database: database)
    }

    /// The query without its limit, which the stream applies itself.
    fileprivate var unlimited: Query { Query().where(criteria).order(orders) }
}

/// The records of a query one after the other; see ``Query/stream(pageSize:in:)``. It can be iterated several times.
public struct RecordStream<Record: ActiveRecord>: AsyncSequence, Sendable {
    let query: Query<Record>
    let pageSize: Int
    let database: Database?

    /// Returns an iterator that starts at the first record.
    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: self)
    }

    /// The iterator of a ``RecordStream``.
    public struct Iterator: AsyncIteratorProtocol {
        private let query: Query<Record>
        private let pageSize: Int
        private let database: Database?
        private let hasOffset: Bool
        /// The number of records that the query's limit still allows.
        private var left: Int
        private var page: [Record] = []
        private var index = 0
        private var position: Position<Record>?
        private var isLast = false

        fileprivate init(stream: RecordStream) {
            query = stream.query.unlimited
            pageSize = stream.pageSize
            database = stream.database
            hasOffset = stream.query.offsetCount != 0
            left = stream.query.limitCount ?? .max
        }

        /// Returns the next record, or nil after the last one.
        ///
        /// - Throws: The error of reading a page. The sequence then ends.
        public mutating func next() async throws -> Record? {
            while index == page.count {
                // A negative limit is an error; reading the page reports it.
                guard !isLast, left != 0 else { return nil }
                guard !hasOffset else {
                    throw ActiveObjectError(
                        .outOfRange, message: "a stream of \(Record.tableName) cannot begin at an offset",
                        table: Record.tableName)
                }
                // Release the page before the next one is read, so that only one is in memory.
                page = []
                index = 0
                let next: Page<Record>
                do {
                    next = try await query.page(size: Swift.min(pageSize, left), after: position, in: database)
                } catch {
                    isLast = true
                    throw error
                }
                page = next.records
                position = next.next
                isLast = next.next == nil
                left -= page.count
            }
            defer { index += 1 }
            return page[index]
        }
    }
}
