import ActiveObject
import Foundation
import Testing

// The examples of Documentation/ActiveObject.md that need more than one type.

@Suite struct LibraryGuideTests {
    struct Author: ActiveRecord, Equatable {
        var objectId: Int64?
        var name: String

        static var books: HasMany<Author, Book> { HasMany(\.authorId) }
        static var indexes: [Index<Author>] { [.unique(\.name)] }
    }

    struct Book: ActiveRecord, Equatable {
        var objectId: Int64?
        var authorId: Int64
        var title: String

        static var author: BelongsTo<Book, Author> { BelongsTo(\.authorId, onRemove: .cascade) }
        static var tags: ManyToMany<Book, BookTag, Tag> { ManyToMany(\.bookId, to: \.tagId) }
        static var references: [Reference<Book>] { [Reference(author)] }
    }

    struct Tag: ActiveRecord, Equatable {
        var objectId: Int64?
        var word: String
    }

    struct BookTag: ActiveRecord {
        var objectId: Int64?
        var bookId: Int64
        var tagId: Int64

        static var indexes: [Index<BookTag>] { [.unique(\.bookId, \.tagId)] }
        static var references: [Reference<BookTag>] {
            [
                Reference(\.bookId, to: Book.self, onRemove: .cascade),
                Reference(\.tagId, to: Tag.self, onRemove: .cascade),
            ]
        }
    }

    struct Account: ActiveRecord {
        var objectId: Int64?
        var owner: String
        var balance = 0
        var secret: String?
        var version = 0
        var createdAt: Date?
        var savedAt: Date?

        static var columns: [Column<Account>] {
            [Column(\.owner, named: "owner_name"), Column(\.secret, isPrivate: true)]
        }
        static var indexes: [Index<Account>] { [.unique(\.owner)] }
        static var rules: [Rule<Account>] {
            [.notEmpty(\.owner), Rule(\.balance, message: "must not be negative") { $0 >= 0 }]
        }
        static var versionColumn: WritableKeyPath<Account, Int>? { \.version }
        static var timestamps: Timestamps<Account>? { Timestamps(created: \.createdAt, updated: \.savedAt) }
    }

    @Test func `The examples of relations work`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var author = Author(name: "Tove Jansson")
                try author.save(in: transaction)
                var books = ["The Summer Book", "Fair Play"].map { Book(authorId: author.objectId!, title: $0) }
                try books.saveAll(in: transaction)
                var tag = Tag(word: "islands")
                try tag.save(in: transaction)
                try Book.tags.add(tag, to: books[0], in: transaction)
            }

            try await database.read { snapshot in
                let authors = try Author.findAll(in: snapshot)
                let books = try Author.books.load(for: authors, in: snapshot)
                let all = books.values.flatMap { $0 }
                let tags = try Book.tags.load(for: all, in: snapshot)
                #expect(all.count == 2)
                #expect(tags.values.joined().map(\.word) == ["islands"])
            }

            let aboutIslands = try await Book.where(.has(Book.tags, where: \.word == "islands")).all(in: database)
            #expect(aboutIslands.map(\.title) == ["The Summer Book"])

            try await Author.removeAll(in: database)
            let left = try await Book.countAll(in: database)
            #expect(left == 0)
        }
    }

    @Test func `The examples of rules, versions and upserts work`() async throws {
        try await withDatabase { database in
            var account = Account(owner: "", balance: -1)
            do {
                try await account.save(in: database)
                Issue.record("a record that breaks two rules was saved")
            } catch let error as ActiveObjectError {
                #expect(
                    error.failures.map(\.description) == [
                        "owner_name must not be empty", "balance must not be negative",
                    ])
            }

            account = Account(owner: "Ann", balance: 10)
            try await account.save(in: database)

            var mine = try #require(await Account.first(where: \.owner == "Ann", in: database))
            var hers = mine
            mine.balance = 20
            try await mine.save(in: database)
            hers.balance = 30
            do {
                try await hers.save(in: database)
                Issue.record("a stale record was saved")
            } catch let error as ActiveObjectError {
                #expect(error.code == .stale)
            }

            var again = Account(owner: "Ann", balance: 50)
            try await again.upsert(on: \.owner, in: database)
            #expect(again.objectId == mine.objectId)
            #expect(again.createdAt == mine.createdAt)
        }
    }

    @Test func `The example of changes works`() async throws {
        try await withDatabase { database in
            let changes = Author.changes(in: database)
            var author = Author(name: "Tove Jansson")
            try await author.save(in: database)

            for await change in changes {
                #expect(change.inserted == [author.objectId])
                break
            }
        }
    }

    @Test func `The example of migrations works`() async throws {
        try await withFolder { folder in
            let path = folder + "/library.db"
            var options = Database.Options()
            options.migrations = [
                Migration("writers-are-authors") { transaction in
                    try transaction.renameTable(from: "writers", to: "authors")
                },
                Migration("names-are-trimmed") { transaction in
                    try transaction.run("UPDATE authors SET name = trim(name)")
                },
            ]
            let database = try await Database.open(path, name: nil, options: options)
            let count = try await Author.countAll(in: database)
            #expect(count == 0)
            await database.close()
        }
    }
}
