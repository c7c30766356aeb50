import ActiveObject
import FoundationEssentials

/// A record with a property of each common type.
struct Person: ActiveRecord, Codable, Equatable {
    enum Sex: String, Codable { case female, male }

    var objectId: Int64?
    var name: String
    var age = 0
    var rank: Int8 = 0
    var votes: Int64 = 0
    var sex: Sex?
    var income = 0.0
    var active = true
    var flags: UInt8 = 0
    var rating: Float = 0
    var birthdate: Date?
}
