import Testing

@testable import ActiveObject

@Suite struct RelationWhereTests {
    @Test func `A relation can be filtered like a query`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let some = Author.books.where(\.title > "A" && \.title != "C")
            let books = try await some.load(for: library.authors, in: database)
            #expect(books.mapValues { $0.map(\.title) } == [1: ["B"], 2: ["D"]])
            for book in library.books { try await Book.tags.add(library.tags, to: book, in: database) }
            let tags = Book.tags.where(\.name != "dry").order(by: \.name, descending: true)
            #expect(try await library.books[1].load(tags, in: database).map(\.name) == ["long", "blue"])
        }
    }
}
