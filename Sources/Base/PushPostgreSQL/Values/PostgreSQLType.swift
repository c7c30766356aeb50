/// The number of a type in the server's catalog. Those of built-in types never change.
package struct PostgreSQLType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let bool = PostgreSQLType(rawValue: 16)
    package static let bytea = PostgreSQLType(rawValue: 17)
    package static let name = PostgreSQLType(rawValue: 19)
    package static let int8 = PostgreSQLType(rawValue: 20)
    package static let int2 = PostgreSQLType(rawValue: 21)
    package static let int4 = PostgreSQLType(rawValue: 23)
    package static let text = PostgreSQLType(rawValue: 25)
    package static let float8 = PostgreSQLType(rawValue: 701)
    package static let byteaArray = PostgreSQLType(rawValue: 1001)
    package static let int4Array = PostgreSQLType(rawValue: 1007)
    package static let textArray = PostgreSQLType(rawValue: 1009)
    package static let int8Array = PostgreSQLType(rawValue: 1016)
    package static let varchar = PostgreSQLType(rawValue: 1043)
    package static let timestamptz = PostgreSQLType(rawValue: 1184)

    private static let names: [PostgreSQLType: String] = [
        .bool: "bool", .bytea: "bytea", .name: "name", .int8: "int8", .int2: "int2", .int4: "int4", .text: "text",
        .float8: "float8", .byteaArray: "bytea[]", .int4Array: "int4[]", .textArray: "text[]", .int8Array: "int8[]",
        .varchar: "varchar", .timestamptz: "timestamptz",
    ]

    package var description: String { Self.names[self] ?? "type \(rawValue)" }
}
