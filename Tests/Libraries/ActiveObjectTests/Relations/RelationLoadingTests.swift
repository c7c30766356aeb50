import TestSupport
import Testing

@testable import ActiveObject

@Suite struct RelationLoadingTests {
    @Test func `All kinds of relations of one record are loaded with load`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let (ann, cid) = (library.authors[0], library.authors[2])
            let book = library.books[0]
            var cover = Cover(bookId: book.objectId!, color: "red")
            try await cover.save(in: database)
            try await Book.tags.add([library.tags[2], library.tags[0]], to: book, in: database)

            #expect(try await book.load(Book.author, in: database) == ann)
            #expect(try await library.books[3].load(Book.author, in: database) == nil)
            #expect(try await ann.load(Author.books, in: database).map(\.title) == ["B", "A", "C"])
            #expect(try await cid.load(Author.books, in: database).isEmpty)
            #expect(try await book.load(Book.cover, in: database) == cover)
            #expect(try await cover.load(Cover.book, in: database) == book)
            #expect(try await book.load(Book.tags, in: database).map(\.name) == ["blue", "long"])
            #expect(try await library.tags[0].load(Tag.books, in: database) == [book])

            // The same inside of a snapshot.
            let read = try await database.read { [cover] snapshot in
                (
                    try book.load(Book.author, in: snapshot), try ann.load(Author.books, in: snapshot),
                    try book.load(Book.cover, in: snapshot) == cover, try Book.tags.load(for: book, in: snapshot)
                )
            }
            #expect(read.0 == ann && read.1.count == 3 && read.2 && read.3.count == 2)
        }
    }

    @Test func `An unsaved record has no related records, and a dangling key yields nil`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let unsaved = Author(name: "Dan")
            #expect(try await unsaved.load(Author.books, in: database).isEmpty)
            #expect(try await Author.books.load(for: [unsaved], in: database).isEmpty)
            #expect(try await Book(title: "X").load(Book.tags, in: database).isEmpty)
            #expect(try await Book(title: "X").load(Book.cover, in: database) == nil)
            let stray = Book(authorId: 99, title: "X")
            #expect(try await stray.load(Book.author, in: database) == nil)
            // An unsaved record can still belong to another one.
            let mine = Book(authorId: library.authors[1].objectId, title: "Y")
            let authors = try await Book.author.load(for: [stray, mine], in: database)
            #expect(authors == [library.authors[1].objectId!: library.authors[1]])
            #expect(try await Book.author.load(for: [], in: database).isEmpty)
        }
    }

    @Test func `Related records are sorted by the first order, the second order and the key`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let ann = library.authors[0]
            let byTitle = Author.books.order(by: \.title)
            #expect(try await ann.load(byTitle, in: database).map(\.title) == ["A", "B", "C"])
            let last = Author.books.order(by: \.title, descending: true)
            let grouped = try await last.load(for: library.authors, in: database)
            #expect(grouped.mapValues { $0.map(\.title) } == [1: ["C", "B", "A"], 2: ["D"]])

            try await Book.tags.add(library.tags, to: library.books[0], in: database)
            let tags = Book.tags.order(by: \.name, descending: true)
            #expect(try await library.books[0].load(tags, in: database).map(\.name) == ["long", "dry", "blue"])

            let longest = HasOne<Author, Book>(\.authorId).order(by: \.title, descending: true)
            #expect(try await ann.load(longest, in: database)?.title == "C")
            let each = try await longest.load(for: library.authors, in: database)
            #expect(each.mapValues(\.title) == [1: "C", 2: "D"])
            try await database.write { transaction in
                var twin = Book(authorId: ann.objectId, title: "A")
                try twin.save(in: transaction)
                let two = Author.books.order(by: \.title).order(by: \.objectId, descending: true)
                let books = try ann.load(two, in: transaction)
                #expect(books.map(\.objectId) == [6, 2, 1, 5])
            }
        }
    }

    @Test func `A condition on the target applies with the relation, and its values are bound`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            let some = Author.books.where(\.title > "A").where(\.title != "C' OR 1=1")
                .where(\.title < "C" || .nothing)
            #expect(try await library.authors[0].load(some, in: database).map(\.title) == ["B"])
            let many = try await some.load(for: library.authors, in: database)
            #expect(many.mapValues { $0.map(\.title) } == [1: ["B"]])
            for book in library.books { try await Book.tags.add(library.tags, to: book, in: database) }
            // The join has a column `name` too.
            let tags = Book.tags.where(.like(\.name, pattern: "%l%"))
            #expect(try await library.books[1].load(tags, in: database).map(\.name) == ["blue", "long"])
            #expect(try await tags.load(for: library.books, in: database).count == 5)
            let cover = Book.cover.where(\.color == "red")
            #expect(try await cover.load(for: library.books, in: database).isEmpty)
        }
    }

    @Test func `Loading for many records takes one statement with constant SQL`() async throws {
        try await withDatabase { database in
            let library = try await Library.fill(database)
            try await database.write { transaction in
                for book in library.books { try Book.tags.add(library.tags, to: book, in: transaction) }
                let connection = transaction.connection
                func statements(_ body: () throws -> Void) rethrows -> UInt64 {
                    let before = connection.uses
                    try body()
                    return connection.uses - before
                }
                // From here on, the types are known.
                _ = try Book.cover.load(for: library.books, in: transaction)
                for count in 1...5 {
                    let books = Array(library.books.prefix(count))
                    let authors = Array(library.authors.prefix(count))
                    #expect(try statements { _ = try Book.author.load(for: books, in: transaction) } == 1)
                    #expect(try statements { _ = try Author.books.load(for: authors, in: transaction) } == 1)
                    #expect(try statements { _ = try Book.cover.load(for: books, in: transaction) } == 1)
                    #expect(try statements { _ = try Book.tags.load(for: books, in: transaction) } == 1)
                    #expect(try statements { _ = try Book.tags.loadLinks(for: books[0], in: transaction) } == 2)
                }
            }
        }
    }

    @Test func `Relations of a table to itself are loaded`() async throws {
        try await withDatabase { database in
            let nodes = try await database.write { transaction in
                var nodes = [Node(), Node(parentId: 1), Node(parentId: 1), Node(parentId: 2)]
                try nodes.saveAll(in: transaction)
                return nodes
            }
            #expect(try await nodes[3].load(Node.parent, in: database) == nodes[1])
            let children = try await Node.children.load(for: nodes, in: database)
            #expect(children == [1: [nodes[1], nodes[2]], 2: [nodes[3]]])
        }
    }

    @Test func `Loading for a hundred thousand parents returns the records of each`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                let count = 100_000
                var random = SeededRandom(seed: 7)
                var authors = (0..<count).map { Author(name: "\($0)") }
                try authors.saveAll(in: transaction)
                var books = (0..<count).map {
                    Book(authorId: Int64.random(in: 1...Int64(count), using: &random), title: "\($0)")
                }
                try books.saveAll(in: transaction)
                var tags = (0..<10).map { Tag(name: "\($0)") }
                try tags.saveAll(in: transaction)
                var joins = books.map { BookTag(bookId: $0.objectId!, tagId: $0.objectId! % 10 + 1) }
                try joins.saveAll(in: transaction)

                let byAuthor = Dictionary(grouping: books) { $0.authorId! }
                let loaded = try Author.books.load(for: authors, in: transaction)
                #expect(loaded == byAuthor)
                let ofBooks = try Book.author.load(for: books, in: transaction)
                #expect(Set(ofBooks.keys) == Set(byAuthor.keys))
                #expect(ofBooks.allSatisfy { $0.key == $0.value.objectId })
                let ofTags = try Book.tags.load(for: books, in: transaction)
                #expect(ofTags.count == count)
                #expect(ofTags.allSatisfy { $0.value.map(\.objectId) == [$0.key % 10 + 1] })
            }
        }
    }
}
