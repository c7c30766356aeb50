extension Query {
    /// The records one after the other, read page by page: one page is in memory at a time, however many there are.
    ///
    /// ```swift
    /// for try await person in Person.where(\.active == true).stream() { … }
    /// ```
    ///
    /// Each page is as the file is when it is read, and no transaction stays open between them: a slow reader holds
    /// nobody up. For one state of the file throughout, see `forEach(in:)`. Nil as a database: the one that the type
    /// names. A limit of the query holds; an offset is an error.
    public func stream(pageSize: Int = 500, in database: Database? = nil) -> RecordStream<Record> {
        RecordStream(query: self, pageSize: pageSize, database: database)
    }

    /// Without its limit, which the stream counts itself.
    fileprivate var unlimited: Query { Query().where(criteria).order(orders) }
}

/// The records of a query, one after the other: see `Query.stream`. It can be iterated again, from the beginning.
public struct RecordStream<Record: ActiveRecord>: AsyncSequence, Sendable {
    let query: Query<Record>
    let pageSize: Int
    let database: Database?

    public func makeAsyncIterator() -> Iterator {
        Iterator(stream: self)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let query: Query<Record>
        private let pageSize: Int
        private let database: Database?
        private let hasOffset: Bool
        /// How many more the query's limit lets through.
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

        public mutating func next() async throws -> Record? {
            while index == page.count {
                // A limit below 0 is an error here too, which the page tells.
                guard !isLast, left != 0 else { return nil }
                guard !hasOffset else {
                    throw ActiveObjectError(
                        .outOfRange, "a stream of \(Record.tableName) cannot begin at an offset",
                        table: Record.tableName)
                }
                // Given back before the next one comes, or there would be two.
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
