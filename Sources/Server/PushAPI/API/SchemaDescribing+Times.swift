package import PushTime
package import PushWire

extension WallTime: SchemaDescribing {
    package static var jsonSchema: JSONValue {
        ["type": "integer", "format": "int64", "description": "milliseconds since 1970"]
    }
}
