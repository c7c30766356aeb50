/// How records of one type are connected with records of another: `BelongsTo`, `HasMany`, `HasOne` and `ManyToMany`.
///
/// A relation is a value that the type declares. It costs nothing until something is loaded by it, and a record holds
/// nothing of it:
///
/// ```swift
/// struct Author: ActiveRecord {
///     var objectId: Int64?
///     var name: String
///     static var books: HasMany<Author, Book> { HasMany(\.authorId) }
/// }
///
/// struct Book: ActiveRecord {
///     var objectId: Int64?
///     var authorId: Int64?
///     var title: String
///     static var author: BelongsTo<Book, Author> { BelongsTo(\.authorId, onRemove: .setNil) }
///     static var tags: ManyToMany<Book, BookTag, Tag> { ManyToMany(\.bookId, \.tagId) }
///     static var references: [Reference<Book>] { [Reference(author)] }
/// }
///
/// let author = try await book.load(Book.author)                 // one book: Author?
/// let books = try await Author.books.load(for: authors)         // all of them at once: [Int64: [Book]]
/// for author in authors { print(author.name, books[author.objectId!, default: []].count) }
/// ```
///
/// Loading for many records is one statement, however many they are.
public protocol Relation<Record>: Sendable {
    associatedtype Record: ActiveRecord
    /// What one record has: `Author?`, `[Book]`.
    associatedtype Loaded: Sendable
    /// What each of many has; there is no entry for one that has nothing.
    associatedtype Each: Sendable

    func load(for record: Record, in snapshot: Snapshot) throws -> Loaded
    /// By the `objectId` of the records; for `BelongsTo`, by what the records hold as key.
    func load(for records: [Record], in snapshot: Snapshot) throws -> [Int64: Each]
}

extension Relation {
    public func load(for record: Record, in database: Database? = nil) async throws -> Loaded {
        try await (database ?? Record.database()).readOnce { try load(for: record, in: $0) }
    }

    public func load(for records: [Record], in database: Database? = nil) async throws -> [Int64:
        Each]
    {
        try await (database ?? Record.database()).readOnce { try load(for: records, in: $0) }
    }
}

extension ActiveRecord {
    /// What this record has by a relation of its type.
    public func load<Kind: Relation<Self>>(_ relation: Kind, in snapshot: Snapshot) throws
        -> Kind.Loaded
    {
        try relation.load(for: self, in: snapshot)
    }

    public func load<Kind: Relation<Self>>(
        _ relation: Kind, in database: Database? = nil
    ) async throws -> Kind.Loaded {
        try await relation.load(for: self, in: database)
    }
}
