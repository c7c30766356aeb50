import ActiveObject
import Testing

@Suite struct HasTests {
    /// The library with the tags "blue" and "dry" on A, and "blue" on D.
    private func withLibrary(_ body: @Sendable (Database, Library) async throws -> Void) async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            try await database.write { transaction in
                var joins = [(1, 0), (1, 1), (2, 0)].map { book, tag in
                    BookTag(bookId: library.books[book].objectId!, tagId: library.tags[tag].objectId!)
                }
                try joins.saveAll(in: transaction)
            }
            try await body(database, library)
        }
    }

    private static let authors: [(Criteria<Author>, [String])] = [
        (.has(Author.books), ["Ann", "Bob"]),
        (!.has(Author.books), ["Cid"]),
        (.has(Author.books, where: \.title == "A"), ["Ann"]),
        (!.has(Author.books, where: \.title == "A"), ["Bob", "Cid"]),
        (!(!.has(Author.books, where: \.title == "A")), ["Ann"]),
        (.has(Author.books, where: \.title == "A") && .has(Author.books, where: \.title == "C"), ["Ann"]),
        (.has(Author.books, where: \.title == "A" && \.title == "C"), []),
        (.has(Author.books.where(\.title > "A"), where: \.title < "C"), ["Ann"]),
        (.has(Author.books, where: .nothing), []),
        (.has(Author.books, where: .has(Book.tags, where: \.name == "dry")), ["Ann"]),
        (.has(Author.books, where: !.has(Book.tags)), ["Ann"]),
        (\.name != "Ann" && (.has(Author.books) || \.name == "Cid"), ["Bob", "Cid"]),
        (.has(Author.books, where: .has(Book.author, where: \.name == "Bob")), ["Bob"]),
    ]

    @Test(arguments: authors.indices)
    func `Authors are found by their books`(_ number: Int) async throws {
        try await withLibrary { database, _ in
            let (criteria, names) = Self.authors[number]
            let found = try await Author.where(criteria).all(in: database)
            #expect(found.map(\.name) == names)
            let count = try await Author.where(criteria).count(in: database)
            #expect(count == names.count)
        }
    }

    private static let books: [(Criteria<Book>, [String])] = [
        (.has(Book.author), ["B", "A", "D", "C"]),
        (!.has(Book.author), ["E"]),
        (.has(Book.author, where: \.name == "Ann"), ["B", "A", "C"]),
        (!.has(Book.author, where: \.name == "Ann"), ["D", "E"]),
        (.has(Book.tags), ["A", "D"]),
        (.has(Book.tags, where: \.name == "blue") && !.has(Book.tags, where: \.name == "dry"), ["D"]),
        (.has(Book.tags.where(.hasPrefix(\.name, prefix: "d"))), ["A"]),
    ]

    @Test(arguments: books.indices)
    func `Books are found by their authors and tags`(_ number: Int) async throws {
        try await withLibrary { database, _ in
            let (criteria, titles) = Self.books[number]
            let found = try await Book.where(criteria).all(in: database)
            #expect(found.map(\.title) == titles)
            let page = try await Book.where(criteria).page(size: 10, in: database)
            #expect(page.records == found)
        }
    }

    @Test func `A criterion can use a relation of a table to itself`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var nodes = [Node(), Node(parentId: 1), Node(parentId: 2), Node(parentId: 2), Node(parentId: 1)]
                try nodes.saveAll(in: transaction)
                func ids(_ criteria: Criteria<Node>) throws -> [Int64?] {
                    try Node.where(criteria).all(in: transaction).map(\.objectId)
                }
                #expect(try ids(.has(Node.children)) == [1, 2])
                #expect(try ids(!.has(Node.children)) == [3, 4, 5])
                #expect(try ids(.has(Node.children, where: .has(Node.children))) == [1])
                #expect(try ids(.has(Node.parent, where: .has(Node.parent))) == [3, 4])
                #expect(try ids(.has(Node.parent, where: .has(Node.children, where: \.objectId == 3))) == [3, 4])
            }
        }
    }

    @Test func `Rows are updated and removed by a criterion over a relation`() async throws {
        try await withLibrary { database, _ in
            let changed = try await Author.where(.has(Author.books, where: \.title == "D")).update(
                .set(\.name, to: "Bill"), in: database)
            #expect(changed == 1)
            let removed = try await Book.where(!.has(Book.author)).limit(3).remove(in: database)
            #expect(removed == 1)
            let authors = try await Author.findAll(in: database)
            #expect(authors.map(\.name) == ["Ann", "Bill", "Cid"])
            let count = try await Book.countAll(in: database)
            #expect(count == 4)
        }
    }

    @Test func `The condition of a relation can use a criterion over a relation`() async throws {
        try await withLibrary { database, library in
            let tagged = Author.books.where(.has(Book.tags, where: \.name == "dry"))
            let books = try await library.authors[0].load(tagged, in: database)
            #expect(books.map(\.title) == ["A"])
            let readable = Tag.books.where(.has(Book.author, where: \.name == "Ann"))
            let each = try await readable.load(for: library.tags, in: database)
            #expect(each.mapValues { $0.map(\.title) } == [1: ["A"], 2: ["A"]])
        }
    }

    @Test func `Tables that occur only in a criterion are created`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var ann = Author(name: "Ann")
                try ann.save(in: transaction)
            }
            let none = try await Author.where(.has(Author.books, where: .has(Book.tags))).all(in: database)
            #expect(none.isEmpty)
        }
    }

    @Test func `A criterion nested deeper than SQLite allows is rejected`() async throws {
        try await withLibrary { database, _ in
            func nested(_ depth: Int) -> Criteria<Node> {
                (0..<depth).reduce(.all) { inner, _ in .has(Node.children, where: \.parentId != 7 && inner) }
            }
            let count = try await Node.where(nested(4)).count(in: database)
            #expect(count == 0)
            let error = await thrownError { _ = try await Node.where(nested(30)).count(in: database) }
            #expect(error?.code == .badSQL)
            #expect(error?.message.contains("flatter") == true)
        }
    }
}
