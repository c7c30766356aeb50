import FoundationEssentials

/// The columns of a type that the library writes, with their offsets in a record.
///
/// It does not depend on the record's type, like `RowLayout`. With key paths, counting a version cost as much as
/// binding five columns.
struct ManagedColumns {
    struct Slot {
        let column: Int
        let offset: Int
    }

    // `created` and `updated` hold a `Date?`.
    let created: Slot?
    let updated: Slot?
    /// Holds an `Int`.
    let version: Slot?

    var isEmpty: Bool { created == nil && updated == nil && version == nil }

    /// - Parameter keepsCreated: Whether a time of creation that is already set is kept.
    func stamp(_ record: UnsafeMutableRawPointer, isInsert: Bool, keepsCreated: Bool, transaction: Transaction) {
        if isInsert, let created {
            let date = unsafe (record + created.offset).assumingMemoryBound(to: Date?.self)
            if unsafe !keepsCreated || date.pointee == nil { unsafe date.pointee = transaction.now }
        }
        if let updated {
            unsafe (record + updated.offset).assumingMemoryBound(to: Date?.self).pointee = transaction.now
        }
    }

    /// Increments the version of the record and returns the old one, which the row must have for an update.
    func count(_ record: UnsafeMutableRawPointer, isInsert: Bool) -> Int64? {
        guard let version else { return nil }
        let property = unsafe (record + version.offset).assumingMemoryBound(to: Int.self)
        let read = unsafe property.pointee
        unsafe property.pointee = isInsert ? 1 : read &+ 1
        return Int64(read)
    }

    func version(of record: UnsafeRawPointer) -> Int64? {
        guard let version else { return nil }
        return Int64(unsafe (record + version.offset).assumingMemoryBound(to: Int.self).pointee)
    }
}
