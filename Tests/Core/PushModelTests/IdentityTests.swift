import PushModel
import Testing

@Suite struct IdentityTests {
    @Test func `An apns-id is a UUIDv5 that any program can compute`() throws {
        let app = try #require(AppID("shop"))
        let message = try #require(MessageID("order-4711-shipped"))
        let token = try #require(Address(hex: String(repeating: "ab", count: 32)))
        // Computed in Python by uuid.uuid5(uuid.NAMESPACE_URL, "carillon:/shop/order-4711-shipped/" + "ab" * 32).
        let id = DeliveryID.derived(app: app, message: message, token: token)
        #expect(id.description == "01060f77-dbe3-5343-b9b6-9abc059dd182")
        // The same of "carillon:/shop/m/" + bytes(range(163)).hex().
        let long = try #require(Address(bytes: (0..<163).map { UInt8($0) }))
        #expect(
            DeliveryID.derived(app: app, message: try #require(MessageID("m")), token: long).description
                == "d07ce604-34fd-5d84-8e49-1d58d3537fee")
    }

    @Test(arguments: 1...130) func `The derivation is correct for message ids of every length`(length: Int) throws {
        let app = try #require(AppID("a"))
        guard let message = MessageID(String(repeating: "m", count: length)) else {
            #expect(length > 128)
            return
        }
        let token = try #require(Address(hex: "00ff"))
        #expect(DeliveryID.derived(app: app, message: message, token: token).description == Self.derived[length - 1])
    }

    @Test func `An apns-id is parsed in either case and written in lower case`() {
        let text = "0123ABCD-89ef-4567-8123-456789abcdef"
        #expect(DeliveryID(text)?.description == text.lowercased())
        for wrong in ["", "0123abcd89ef45678123456789abcdef", "0123abcd-89ef-4567-8123-456789abcdeg", text + "0"] {
            #expect(DeliveryID(wrong) == nil)
        }
    }

    @Test(arguments: [1, 2, 8, 31, 32, 33, 64, 100]) func `A token of any length keeps its bytes`(length: Int) throws {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        let token = try #require(Address(bytes: bytes))
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(token.bytes == bytes)
        #expect(token.hex == digits)
        #expect(Address(hex: digits.uppercased()) == token)
        #expect(!"\(token)".contains(digits) || length < 4)
        #expect(token.byteCount == length)
    }

    @Test(arguments: ["", "a", "abc", "zz", "ab cd", String(repeating: "ab", count: 2049)])
    func `Text that is not an address in digits is rejected`(text: String) {
        #expect(Address(hex: text) == nil)
    }

    @Test func `A dump does not contain the token`() throws {
        let token = try #require(Address(hex: String(repeating: "5c", count: 40)))
        var text = ""
        dump(token, to: &text)
        #expect(!text.contains("5c5c5c5c"))
        #expect(!String(reflecting: token).contains("5c5c5c5c"))
    }

    @Test(arguments: [("shop", true), ("a.b_c-D9", true), ("", false), ("a/b", false), ("a b", false), ("é", false)])
    func `App ids consist of letters, digits, dots, hyphens and underscores`(name: String, isOne: Bool) {
        #expect((AppID(name) != nil) == isOne)
    }

    private static let derived = [
        "00bea0f7-0a35-54d1-8746-4a96a3ea66e5",
        "44f6ce59-8cf1-58d7-85ea-c62f58b31359",
        "14af3504-d29e-583a-bdde-5f4d1e0bd6eb",
        "fae3eec0-15a3-57d6-92e3-d8eceeb9c6f8",
        "40a7d226-4960-5ec7-a569-bb0c737c2f5b",
        "719fd9af-9b0c-54d9-a5b6-4cf001a7a4c6",
        "81ae1dcc-ab8b-564b-8d3c-67b54b21bca5",
        "3f697b60-59c7-5e30-998c-a30f7df50dc5",
        "a8cd6e23-e9ff-5edb-a708-f244332775db",
        "04b6e930-13a8-544f-83bc-95760c886581",
        "c7a796e6-1ae0-53a2-8f5f-aacb2a5e976b",
        "eec1bf84-e743-54a7-b75b-8c1d83b3e4bb",
        "e7e47221-dbe5-5229-9c10-e674199e90ed",
        "2461eed4-bc04-57de-8e8d-6a373c903e23",
        "119f1510-2345-5293-b196-4b0cea42eea7",
        "8217ddff-eb87-5655-8a1d-ab25ca3f7ed5",
        "a0bac08e-d6ab-5a66-ada3-0c02510663e7",
        "cc3131be-a6d5-522a-a02e-1fc61f7f14f5",
        "4b7b330f-8ab9-5e32-8f67-eaee21a91a43",
        "fd8af3b9-73b7-5698-b21b-2cc9c8d3544e",
        "3b10e1ae-dfc2-5fad-afe3-7958f9d6c419",
        "8db4fa6b-b176-5bd0-8d9d-fa2d65faf141",
        "7ecbf784-2802-544e-b561-187a39a4b0d9",
        "d29c2016-8b30-52e9-b24f-93059c782b18",
        "79da914a-1e0d-5d21-89c9-71fbd655194a",
        "a0da27b2-e445-563a-b8cd-032f2edc1088",
        "2573cc7a-6769-56f6-bb8a-e1dba28b08a0",
        "41f222d3-0489-54ac-b6bb-6bcb8734e520",
        "111b7115-edd1-5d58-9147-6ad0b63a6959",
        "fc6234b9-500e-5bbe-a03d-bb2ee8534b39",
        "1b386df9-20fa-5d49-967c-3017374a1622",
        "a0b60142-9d6d-5ade-9ab6-1d9c3eb2c06d",
        "8c724372-42cd-524c-b958-bedf79a4e0c7",
        "c656a6e8-85b5-5080-9be1-f1b3cba4f860",
        "eef0c00f-4b5c-5423-a155-ee069c90f428",
        "4bea30b9-a6bf-5768-b5ab-35cc79c5d379",
        "ec13aa13-ee35-5f7a-90da-12edcb3363a4",
        "29fafa9a-e463-52a6-bd28-a9f969882a1f",
        "42a40900-6eed-55f4-8717-7a379bbf229e",
        "81f90c21-02f5-5820-964c-14ebd3e89411",
        "162ea75e-5c51-55c2-9b79-11e59bff8da7",
        "533f264f-9831-5b3b-9f53-00e551bacd80",
        "cc40c7f0-1d69-5def-a661-568f28e91d89",
        "965eb5e9-ac06-58a0-880a-a0f4ea18952a",
        "38afcb3e-00c0-5923-b659-be0b141af430",
        "118799cd-895f-57f0-8aa1-edea878e2a2f",
        "52d5fce8-926c-5f51-a651-160c65871683",
        "0c2092da-7806-5c61-8ddf-b252bb1cdeb0",
        "d5a38800-8a3a-5712-bba8-c64abcb6371e",
        "02c2d53b-9ec1-5cf2-ae55-a7b42ecc5f14",
        "ef49dbd6-1d83-5eed-a8b5-ea960a1bdbe4",
        "31593795-051a-5b44-9d57-5a5aea8fbf15",
        "cafa4aec-d98b-50b4-86e4-ea263e39c8e2",
        "8458ff6d-63fa-5cad-8cbc-a75cfe7bda22",
        "40fc44b6-896f-52b6-a26e-4c6a9ce05030",
        "90e24edc-7b3c-520f-b959-1ce7343a3f27",
        "dd3acefb-11b5-58bd-86ac-78939fd18d13",
        "93e7393f-4d15-5873-a209-2c1dce83b45a",
        "add34711-e490-5667-baf7-3526d6c0c823",
        "bd290435-dcde-53bb-9597-d5ca0eaa08c7",
        "b36fbba9-f23a-502d-ad89-101418a29612",
        "45836c1a-48d0-5215-bbcb-a43a8eb23845",
        "8ff57f32-534d-56e0-989d-953532fd4bd3",
        "406ed3e1-fe95-5006-8804-fc8078118d17",
        "04096888-c5e5-5df6-9a67-7be87394ae20",
        "de7c0226-4c90-59cb-b2e7-ec72572003e0",
        "64f8813f-eb9d-59fe-b7f0-5ea945515faf",
        "3b7fa764-12e7-57e6-876e-96239d105f59",
        "4d0ec2eb-5892-5ef3-83cd-84d6f089787c",
        "952f4b03-eb6b-5e43-a8a2-ea0ad163fd42",
        "6f35ce4b-636c-569a-99db-72f8b22f7f89",
        "e80c6d6e-eb76-5e86-845f-1ebb5204d810",
        "40bce8e3-958c-51c9-ba82-d971b4ba9770",
        "e73b35c3-bbe2-510b-8889-4b8670b264f0",
        "b1d63d0c-9197-5ff4-b93e-ca198c137ab7",
        "b0e5971b-f4e7-5e43-ac9f-539799b28b42",
        "97c92277-1386-5288-915f-2042628d5886",
        "f859fe89-0396-5eb2-bbdc-577e9ef837e5",
        "a7db3a6e-b434-501f-9c6a-840503055c0c",
        "27e4be4a-6412-53be-8b17-51a08b35a18f",
        "472b8400-b8ac-5956-a2dd-734455bd1311",
        "5381d283-99b2-5456-8fd8-2d97bdb98235",
        "3ca5e2cf-c413-51b3-8890-04e51822520e",
        "2e233bb0-5ab9-5000-9d47-55179d0db270",
        "1fbad2f0-495a-5277-a6f8-ed140f721429",
        "9d167a1b-215f-5a25-a8ac-dc2498cd6276",
        "05896235-5647-5925-8a2e-845c12c34042",
        "c4eb41e5-234b-52ee-a9eb-d171a2a771dd",
        "27756c13-8e44-5441-953a-05c5e24df30f",
        "99769c67-b90b-5434-947d-252967009ad3",
        "beadc7bd-187c-55d5-a52e-bd428f2361c9",
        "56a50102-4668-5d77-9061-fea6c742cf8c",
        "cfb9dfba-8456-586d-8143-52a8471c5fa3",
        "e209d1f1-1e1e-584e-b159-2e7fabd19309",
        "f6c5a0fc-aa32-5c7b-973c-87036faf8eb8",
        "7797b0d5-c7b9-5dd5-a700-2ecac8e64c1a",
        "f24c4431-67f1-59c5-bbdd-94e71c94916d",
        "9bb92141-01f4-52b8-98b0-265170b4a7f1",
        "972c7f9a-4a66-5023-a0c4-82407b4f3599",
        "6bff19f1-cfa6-5692-9b01-558342e69cd8",
        "7965401a-6694-508d-a491-070af4b0c63a",
        "23dd938e-b19b-5dee-8c55-2f0ce41e1013",
        "adcc7bfc-2c3f-5441-8cdb-a1d517595d4d",
        "44b97087-9024-5f24-96fd-da7a5c06450f",
        "7ccc09a1-e366-5c30-b6f5-fbd2e51cc3fc",
        "3164cfbb-d074-5b95-b58b-597101392674",
        "4e577e51-cef7-59f1-b448-103a63e1015c",
        "9061bbd2-69ee-5410-a125-96f0496452dd",
        "9a11397a-d7c9-5bc1-a6f9-71d79cf16f24",
        "84a2faec-08c5-5dc5-8217-3f2738b2b3fe",
        "ed348661-4238-53b7-b119-6fba1c89884d",
        "521e2951-e9cd-5fe4-b33d-59528a2d673f",
        "72429298-ec0d-50f9-9e84-50394250e9f2",
        "affc492b-30ce-5a6f-9504-b5dcb4ba737c",
        "fdba48a4-8774-5a9d-83fe-2699d5c89d2d",
        "70e816dd-1bab-598e-8cd5-3b955f2c899e",
        "136fb05a-d5ba-58c4-976d-f6e77823ecd8",
        "1534f6f9-4561-52b0-bbe3-41df9dd64f37",
        "d355f9a7-cfb6-5c72-a4ee-b6d138782cac",
        "cbfbbdc6-167f-5789-bc95-0e77315195a3",
        "848b65ec-aa13-50bf-9340-06f39f021ed5",
        "a7a7a6da-e7aa-5a2b-9064-f10fed9e4dc6",
        "396810ea-10cc-5fda-b8e7-4b550cd3994a",
        "5331d407-4ef4-5bb4-8af9-8669fc098694",
        "0720018d-2911-56f3-98c5-1e9ef182212c",
        "5fb431c9-23b4-5eff-bd61-20799a24b6a1",
        "e0c6b5e3-0b31-5429-87a3-4a14d32304bc",
        "e91f83fb-4a17-5c8f-a2e1-7c0c734eefe7",
    ]
}
