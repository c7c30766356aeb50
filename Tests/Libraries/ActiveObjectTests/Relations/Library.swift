@testable import ActiveObject

/// Books, their authors, their covers, and their tags.
struct Author: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    static var books: HasMany<Author, Book> { HasMany(\.authorId) }
}

struct Book: ActiveRecord, Equatable {
    var objectId: Int64?
    var authorId: Int64?
    var title: String
    static var author: BelongsTo<Book, Author> { BelongsTo(\.authorId, onRemove: .setNil) }
    static var cover: HasOne<Book, Cover> { HasOne(\.bookId) }
    static var tags: ManyToMany<Book, BookTag, Tag> { ManyToMany(\.bookId, to: \.tagId) }
    static var references: [Reference<Book>] { [Reference(author)] }
}

/// A cover, which always belongs to a book.
struct Cover: ActiveRecord, Equatable {
    var objectId: Int64?
    var bookId: Int64
    var color: String
    static var book: BelongsTo<Cover, Book> { BelongsTo(\.bookId, onRemove: .cascade) }
    static var references: [Reference<Cover>] { [Reference(book)] }
}

/// A join with columns of its own, some of which have the same names as columns of tags.
struct BookTag: ActiveRecord, Equatable {
    var objectId: Int64?
    var bookId: Int64
    var tagId: Int64
    var name = ""
    var weight = 1.0
    var note: String?
    static var columns: [Column<BookTag>] { [Column(\.weight, default: 2.5)] }
    static var references: [Reference<BookTag>] {
        [Reference(\.bookId, to: Book.self, onRemove: .cascade), Reference(\.tagId, to: Tag.self, onRemove: .restrict)]
    }
}

struct Tag: ActiveRecord, Equatable {
    var objectId: Int64?
    var name: String
    static var books: ManyToMany<Tag, BookTag, Book> { ManyToMany(\.tagId, to: \.bookId) }
}

/// A node of a tree.
struct Node: ActiveRecord, Equatable {
    var objectId: Int64?
    var parentId: Int64?
    static var parent: BelongsTo<Node, Node> { BelongsTo(\.parentId) }
    static var children: HasMany<Node, Node> { HasMany(\.parentId) }
}

struct Library: Sendable {
    var authors: [Author] = ["Ann", "Bob", "Cid"].map { Author(name: $0) }
    var books: [Book] = []
    var tags: [Tag] = ["blue", "dry", "long"].map { Tag(name: $0) }

    /// Ann has written "B", "A" and "C", Bob "D", Cid nothing; "E" has no author.
    static func fill(_ database: Database) async throws -> Library {
        try await database.write { transaction in
            var library = Library()
            try library.authors.saveAll(in: transaction)
            let (ann, bob) = (library.authors[0].objectId, library.authors[1].objectId)
            library.books = [("B", ann), ("A", ann), ("D", bob), ("E", nil), ("C", ann)].map {
                Book(authorId: $0.1, title: $0.0)
            }
            try library.books.saveAll(in: transaction)
            try library.tags.saveAll(in: transaction)
            return library
        }
    }
}
