/// The table of a record type: its columns, and the statements that every record needs.
///
/// It is made once for each type, at the first use, and kept for the life of the process.
final class Table<Record: ActiveRecord>: @unchecked Sendable {
    // Unchecked: nothing changes after `init`. Key paths and metatypes of codecs are immutable, but not marked
    // Sendable.

    struct Field {
        let property: StoredProperty<Record>
        let column: String
        let codec: any ColumnCodec.Type
        let isPrivate: Bool
        let ignoresCase: Bool
        let defaultValue: SQLValue?
    }

    let name: String
    /// The offset of `objectId` in the record.
    let idOffset: Int
    /// The properties with a column: `objectId` first, then the others in the order of declaration.
    let fields: [Field]
    let layout: RowLayout
    let indexes: [Index<Record>]
    /// The additional steps of saving and removing a record.
    let saving: SavePlan<Record>
    private let fieldByKeyPath: [PartialKeyPath<Record>: Int]
    private let fieldByName: [[UInt8]: Int]

    let insertSQL: String
    let updateSQL: String
    let findSQL: String
    let removeSQL: String
    /// The quoted columns in the order of `fields`, for every SELECT that reads records.
    let columnList: String

    init() throws(ActiveObjectError) {
        let tableName = Record.tableName
        let properties = try Self.properties(tableName: tableName)
        let options = try Self.options(properties, tableName: tableName)
        let names = CodingNames(of: Record.self, properties: properties.map(\.name))
        var fields: [Field] = []
        var unstored: [(offset: Int, type: any ExpressibleByNilLiteral.Type)] = []
        for property in properties {
            let option = options[property.keyPath]
            guard let column = try Self.column(of: property, option: option, named: names, tableName: tableName) else {
                guard let type = property.type as? any ExpressibleByNilLiteral.Type else {
                    throw ActiveObjectError(
                        .badRecord,
                        message: """
                            \(Record.self).\(property.name) has no column and must be optional, because it is nil in \
                            records that are read. If CodingKeys leave it out, Column(\\.\(property.name), named:) \
                            gives it a column
                            """, table: tableName)
                }
                unstored.append((property.offset, type))
                continue
            }
            fields.append(try Self.field(for: property, column: column, option: option, tableName: tableName))
        }
        guard let idIndex = fields.firstIndex(where: { $0.property.name == "objectId" }),
            fields[idIndex].property.type == Int64?.self
        else {
            throw ActiveObjectError(
                .badRecord, message: "\(Record.self) needs a stored property: var objectId: Int64?", table: tableName)
        }
        fields.insert(fields.remove(at: idIndex), at: 0)
        name = tableName
        self.fields = fields
        layout = RowLayout(
            columns: fields.map { ($0.property.offset, $0.property.type, $0.codec) }, unstored: unstored)
        idOffset = fields[0].property.offset
        indexes = Record.indexes
        fieldByName = try Self.numbers(of: fields, tableName: tableName)
        fieldByKeyPath = Dictionary(uniqueKeysWithValues: fields.enumerated().map { ($1.property.keyPath, $0) })

        columnList = fields.map(\.column.quotedName).joined(separator: ", ")
        saving = try SavePlan(fields: fields, tableName: tableName)
        let statements = saving.statements
        insertSQL = statements.insert
        updateSQL = statements.update
        findSQL = statements.find
        removeSQL = statements.remove
    }

    private static func field(
        for property: StoredProperty<Record>, column: String, option: Column<Record>?, tableName: String
    ) throws(ActiveObjectError) -> Field {
        guard let codec = CodecLookup.codec(for: property.type, dates: option?.dates ?? .exact) else {
            let hint = property.type is any FixedWidthInteger.Type ? " (SQLite's numbers have 64 bits)" : ""
            throw ActiveObjectError(
                .badRecord,
                message: """
                    \(Record.self).\(property.name) is a \(property.type), which no column can hold\(hint); \
                    make that type Codable or a ColumnValue, or leave the property out with \
                    Column(\\.\(property.name), isStored: false)
                    """, table: tableName, column: column)
        }
        guard !(option?.ignoresCase ?? false) || codec.valueClass == .text else {
            throw ActiveObjectError(
                .badRecord, message: "\(Record.self).\(property.name): `ignoresCase` needs a text column",
                table: tableName, column: column)
        }
        guard option?.dates == nil || codec.isDate else {
            throw ActiveObjectError(
                .badRecord, message: "\(Record.self).\(property.name): `dates` needs a column of dates",
                table: tableName, column: column)
        }
        return Field(
            property: property, column: column, codec: codec, isPrivate: option?.isPrivate ?? false,
            ignoresCase: option?.ignoresCase ?? false, defaultValue: option?.defaultValue)
    }

    /// Returns the number of each field by the name of its column.
    private static func numbers(of fields: [Field], tableName: String) throws(ActiveObjectError) -> [[UInt8]: Int] {
        var numbers: [[UInt8]: Int] = [:]
        for (index, field) in fields.enumerated() {
            // SQLite ignores case in names.
            guard numbers.updateValue(index, forKey: field.column.nameKey) == nil else {
                throw ActiveObjectError(
                    .badRecord,
                    message: "\(Record.self) has two columns named \(field.column); SQLite ignores case in names",
                    table: tableName, column: field.column)
            }
        }
        return numbers
    }

    private static func properties(tableName: String) throws(ActiveObjectError) -> [StoredProperty<Record>] {
        do throws(Unreflected) {
            return try storedProperties(of: Record.self)
        } catch {
            let subject = error.property.map { "\(Record.self).\($0)" } ?? "\(Record.self) cannot be a record: it"
            throw ActiveObjectError(
                .badRecord, message: "\(subject) \(error.reason)", table: tableName, column: error.property)
        }
    }

    /// Returns the name of a property's column; nil if it has none. `columns` takes precedence over `CodingKeys`.
    private static func column(
        of property: StoredProperty<Record>, option: Column<Record>?, named names: CodingNames, tableName: String
    ) throws(ActiveObjectError) -> String? {
        if let option, !option.isStored { return nil }
        if let name = option?.name { return name }
        let isKey = property.name == "objectId"
        switch names[property.name] {
        case .column(let name): return name
        // A property without a coding key has a column if it is the key or is listed in `columns`.
        case .leftOut: return isKey || option != nil ? property.name : nil
        case .unclear where isKey: return property.name
        case .unclear:
            throw ActiveObjectError(
                .badRecord,
                message: """
                    \(Record.self).\(property.name) has no key of its name in CodingKeys, which have other names for a \
                    hand-written decoder; declare Column(\\.\(property.name), named:) or isStored: false
                    """, table: tableName, column: property.name)
        }
    }

    /// Returns the entries of `columns` by property. Each must name a stored property, and none may occur twice.
    private static func options(
        _ properties: [StoredProperty<Record>], tableName: String
    ) throws(ActiveObjectError) -> [PartialKeyPath<Record>: Column<Record>] {
        let known = Set(properties.map(\.keyPath))
        var options: [PartialKeyPath<Record>: Column<Record>] = [:]
        for option in Record.columns {
            guard known.contains(option.keyPath) else {
                throw ActiveObjectError(
                    .badRecord,
                    message: "\(Record.self).columns names \(option.keyPath), which is not a stored property",
                    table: tableName)
            }
            guard options.updateValue(option, forKey: option.keyPath) == nil else {
                throw ActiveObjectError(
                    .badRecord, message: "\(Record.self).columns names \(option.keyPath) twice", table: tableName)
            }
        }
        return options
    }

    // MARK: Lookup

    func field(_ keyPath: PartialKeyPath<Record>) throws(ActiveObjectError) -> Field {
        fields[try fieldIndex(of: keyPath)]
    }

    /// Returns the index of a column in `fields`.
    func fieldIndex(of keyPath: PartialKeyPath<Record>) throws(ActiveObjectError) -> Int {
        guard let index = fieldByKeyPath[keyPath] else {
            throw ActiveObjectError(
                .badRecord, message: "\(keyPath) is not a column of \(name); only stored properties are columns",
                table: name)
        }
        return index
    }

    /// Returns the field with the given column name.
    func field(named column: String) throws(ActiveObjectError) -> Field {
        guard let index = fieldByName[column.nameKey] else {
            throw ActiveObjectError(
                .badRecord,
                message: "\(name) has no column \(column); it has \(fields.map(\.column).joined(separator: ", "))",
                table: name, column: column)
        }
        return fields[index]
    }

    /// - Parameter found: The value in the file. It is shown unless the column is private.
    func error(_ fault: ColumnFault, in field: Field, found: SQLValue? = nil) -> ActiveObjectError {
        fault.error(
            table: name, column: field.column, wanted: field.codec.valueClass, isPrivate: field.isPrivate, found: found)
    }
}
