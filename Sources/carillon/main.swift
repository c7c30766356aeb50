print("carillon")
