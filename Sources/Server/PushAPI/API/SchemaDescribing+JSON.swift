package import PushWire

extension JSONValue: SchemaDescribing {
    /// Any value: an answer that contains JSON of others does not know its form.
    package static var jsonSchema: JSONValue { [:] }
}
