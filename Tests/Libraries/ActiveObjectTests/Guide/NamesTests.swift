import ActiveObject
import Foundation
import Observation
import Synchronization
import Testing

/// A program that imports this library beside the most common ones. That it compiles is half of the test.
@Suite struct NamesTests {
    struct Book: ActiveRecord {
        var objectId: Int64?
        var title = ""
        var subtitle: String?
        var pages = 0
        var price = 0.0
        var rank: Int?
        var printed: Date?
        var authorId: Int64?

        static var columns: [Column<Book>] { [Column(\.title, ignoresCase: true)] }
        static var indexes: [Index<Book>] { [Index(\.title)] }
        static var rules: [Rule<Book>] { [] }
        static var references: [Reference<Book>] { [Reference(\.authorId, to: Book.self)] }
        static var author: BelongsTo<Book, Book> { BelongsTo(\.authorId) }
    }

    @Test func `Public names need no module prefix`() async throws {
        let order: Order<Book> = .ascending(\.title)
        let query: Query<Book> = Book.query.order([order])
        try await withDatabase { database in
            let page: Page<Book> = try await query.page(size: 1, in: database)
            let position: Position<Book>? = page.next
            let changes: Changes<ChangeSet> = Book.changes(in: database)
            let rows: [Row] = try await database.write { (transaction: Transaction) in
                func read(_ snapshot: Snapshot) throws -> [Row] { try snapshot.rows("SELECT 1 AS one") }
                return try read(transaction)
            }
            _ = changes
            let relation: any Relation<Book> = Book.author
            _ = relation
            #expect(position == nil && rows.first?["one"] == 1)
        }
    }

    @Test func `Ordinary comparisons of values and key paths still compile`() {
        #expect(\Book.title == \Book.title && \Book.title != \Book.subtitle)
        let paths: [PartialKeyPath<Book>] = [\.title, \.pages]
        #expect(paths.firstIndex { $0 == \Book.pages } == 1)
        let (one, other) = (\Book.pages, \Book.pages)
        let isSame: Bool = one == other
        #expect(isSame && Set([one, other]).count == 1)
        let (low, high) = (Book(pages: 1), Book(pages: 9))
        #expect(low.pages < high.pages && [low, high].map(\.pages) == [1, 9])
        switch low.pages {
        case 0...5: break
        default: Issue.record("a range pattern in a switch does not match a value")
        }
    }

    @Test func `Long criteria compile quickly`() async throws {
        let date = Date.now
        let criteria: Criteria<Book> =
            \.title == "a" && \.pages > 3 && \.price <= 2.5 && \.rank != nil && \.subtitle != "b"
            || \.printed < date
                && !(\.pages == 7) && \.rank >= 1 && \.price ~= 0...1 && .hasPrefix(\.title, prefix: "x")
                && \.authorId == 12
        let other =
            \Book.title != "a" && \Book.pages < 3 || \Book.price > 2 && \Book.rank == 4
            || \Book.subtitle == nil
                && \Book.printed >= date && \Book.objectId != 7 && \Book.pages ~= 1... && \Book.authorId == nil
                && \Book.rank <= 3
        try await withDatabase { database in
            #expect(try await Book.count(where: criteria && other, in: database) == 0)
            let inPlace = try await Book.where(
                \.title == "a" && \.pages > 3 && \.price <= 2.5 && \.rank != nil && \.subtitle != "b"
                    && \.printed < date && \.rank >= 1 && \.price ~= 0...1 && \.authorId == 12 && \.pages != 9
            ).all(in: database)
            #expect(inPlace.isEmpty)
        }
    }
}
