import FoundationEssentials

/// The columns of a type that the library writes, and where they lie in a record.
///
/// Without the record's type, as `RowLayout`: by key paths, counting one version cost as much as binding five columns.
struct ManagedColumns {
    struct Place {
        let column: Int
        let offset: Int
    }

    /// These two hold a `Date?`.
    let created: Place?
    let updated: Place?
    /// Holds an `Int`.
    let version: Place?

    var isEmpty: Bool { created == nil && updated == nil && version == nil }

    /// - Parameter keepsCreated: a time of creation that the record brings is taken as it is.
    func stamp(_ record: UnsafeMutableRawPointer, isInsert: Bool, keepsCreated: Bool, transaction: Transaction) {
        if isInsert, let created {
            let date = unsafe (record + created.offset).assumingMemoryBound(to: Date?.self)
            if unsafe !keepsCreated || date.pointee == nil { unsafe date.pointee = transaction.now }
        }
        if let updated {
            unsafe (record + updated.offset).assumingMemoryBound(to: Date?.self).pointee = transaction.now
        }
    }

    /// Counts the save in the record, and gives what it held before: the version that an update must find in the row.
    func count(_ record: UnsafeMutableRawPointer, isInsert: Bool) -> Int64? {
        guard let version else { return nil }
        let place = unsafe (record + version.offset).assumingMemoryBound(to: Int.self)
        let read = unsafe place.pointee
        unsafe place.pointee = isInsert ? 1 : read &+ 1
        return Int64(read)
    }

    func version(of record: UnsafeRawPointer) -> Int64? {
        guard let version else { return nil }
        return Int64(unsafe (record + version.offset).assumingMemoryBound(to: Int.self).pointee)
    }
}
